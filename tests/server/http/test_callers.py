"""Who asks, as whom, and may they: over real requests."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import aiohttp
import pytest

from eachnode.server.http.authentication import tokens_from_file
from eachnode.server.http.certificates import Certificates
from tests.server.http.sites import Site, Tree, config_map, running

pytestmark = pytest.mark.sockets

MAPS = "/api/v1/namespaces/home/configmaps"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNT = "system:serviceaccount:home:agent"


def role(name: str, *rules: Tree) -> Tree:
    """A ClusterRole."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": list(rules),
    }


def rule(verbs: str, resources: str, group: str = "") -> Tree:
    """One rule of a role."""
    return {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": [group]}


def binding(name: str, to_role: str, user: str) -> Tree:
    """A ClusterRoleBinding."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": to_role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    }


async def grant(site: Site, user: str, *rules: Tree) -> None:
    """Lets a user do something everywhere."""
    assert (await site.call(f"POST {RBAC}/clusterroles", role(f"of-{user}", *rules))).status == 201
    assert (
        await site.call(f"POST {RBAC}/clusterrolebindings", binding(f"of-{user}", f"of-{user}", user))
    ).status == 201


async def account_token(site: Site) -> str:
    """A token of a new service account."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "agent"}}
    assert (await site.call("POST /api/v1/namespaces/home/serviceaccounts", account)).status == 201
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = await site.call("POST /api/v1/namespaces/home/serviceaccounts/agent/token", asked)
    return str(made.body["status"]["token"])


async def test_a_wrong_token_is_unauthorized() -> None:
    async with running() as site:
        refused = await site.call(f"GET {MAPS}", token="wrong")
        assert (refused.status, refused.message) == (401, "Unauthorized")
        assert "details" not in refused.body
        assert (await site.call("GET /healthz", token="wrong")).status == 401


async def test_nobody_in_particular_gets_health_and_version_only() -> None:
    async with running() as site:
        for page in ("/healthz", "/livez", "/readyz", "/version"):
            assert (await site.call(f"GET {page}", token=None)).status == 200, page
        for page in ("/metrics", "/api", "/apis", "/openapi/v2", "/nosuchpath", "/healthz/ping"):
            refused = await site.call(f"GET {page}", token=None)
            assert refused.status == 403
            assert refused.message == f'forbidden: User "system:anonymous" cannot get path "{page}"'
        refused = await site.call(f"GET {MAPS}", token=None)
        assert refused.message == (
            'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" '
            'in the namespace "home"'
        )


@pytest.mark.parametrize(
    ("step", "verb"),
    [
        (f"GET {MAPS}", "list"),
        (f"GET {MAPS}?watch=1", "watch"),
        (f"GET {MAPS}/a", "get"),
        (f"POST {MAPS}", "create"),
        (f"PUT {MAPS}/a", "update"),
        (f"PATCH {MAPS}/a", "patch"),
        (f"DELETE {MAPS}/a", "delete"),
        (f"DELETE {MAPS}", "deletecollection"),
    ],
)
async def test_each_verb_has_to_be_allowed(step: str, verb: str) -> None:
    async with running() as site:
        refused = await site.call(step, None if step.startswith("GET") else {}, Impersonate_User="eve")
        assert refused.status == 403
        assert f'User "eve" cannot {verb} resource "configmaps"' in refused.message


async def test_a_user_of_the_token_file_may_do_what_its_roles_say(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('# who\nt-1,alice,u-1,"dev, ops"\n')
    async with running(token_file=path) as site:
        assert (await site.call(f"GET {MAPS}", token="t-1")).status == 403
        await grant(site, "alice", rule("list", "configmaps"))
        assert (await site.call(f"GET {MAPS}", token="t-1")).status == 200
        assert (await site.call(f"GET {MAPS}/a", token="t-1")).status == 403
        assert (await site.call("GET /apis", token="t-1")).status == 200
        whoami = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        review = await site.call("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", whoami, token="t-1")
        assert review.body["status"]["userInfo"] == {
            "username": "alice",
            "uid": "u-1",
            "groups": ["dev", "ops", "system:authenticated"],
        }


def test_a_line_of_the_token_file_that_says_too_little_is_named() -> None:
    with pytest.raises(ValueError, match="line 2"):
        tokens_from_file("a,b,c\nd,e\n")


async def test_a_rule_for_one_name_allows_to_list_and_watch_that_one() -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("mine"))
        await grant(site, "bob", {**rule("get list watch", "configmaps"), "resourceNames": ["mine"]})
        assert (await site.call(f"GET {MAPS}/mine", Impersonate_User="bob")).status == 200
        assert (await site.call(f"GET {MAPS}/other", Impersonate_User="bob")).status == 403
        assert (await site.call(f"GET {MAPS}?fieldSelector=metadata.name%3Dmine", Impersonate_User="bob")).status == 200
        assert (await site.call(f"GET {MAPS}", Impersonate_User="bob")).status == 403


async def test_a_service_accounts_token_is_good_until_the_account_goes() -> None:
    async with running() as site:
        token = await account_token(site)
        refused = await site.call(f"GET {MAPS}", token=token)
        assert f'User "{ACCOUNT}" cannot list' in refused.message
        await grant(site, ACCOUNT, rule("list", "configmaps"))
        assert (await site.call(f"GET {MAPS}", token=token)).status == 200
        assert (await site.call(f"GET {MAPS}", token=token[:-2])).status == 401
        await site.call("DELETE /api/v1/namespaces/home/serviceaccounts/agent")
        assert (await site.call(f"GET {MAPS}", token=token)).status == 401


async def test_who_may_impersonate_acts_as_somebody_else() -> None:
    async with running() as site:
        token = await account_token(site)
        await grant(site, ACCOUNT, {**rule("impersonate", "users"), "resourceNames": ["carol"]})
        await grant(site, "carol", rule("list", "configmaps"))
        assert (await site.call(f"GET {MAPS}", token=token, Impersonate_User="carol")).status == 200
        refused = await site.call(f"GET {MAPS}", token=token, Impersonate_User="admin")
        assert refused.message == (
            f'users "admin" is forbidden: User "{ACCOUNT}" cannot impersonate resource "users" in API group "" '
            "at the cluster scope"
        )
        refused = await site.call(
            f"GET {MAPS}", token=token, Impersonate_User="carol", Impersonate_Group="system:masters"
        )
        assert 'groups "system:masters" is forbidden' in refused.message
        assert (await site.call(f"GET {MAPS}", Impersonate_Group="dev")).status == 400


async def test_an_impersonated_service_account_is_in_its_groups() -> None:
    async with running() as site:
        whoami = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        step = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"
        review = await site.call(step, whoami, Impersonate_User=ACCOUNT, Impersonate_Extra_reason="test")
        info = review.body["status"]["userInfo"]
        assert info["groups"] == ["system:serviceaccounts", "system:serviceaccounts:home", "system:authenticated"]
        assert info["extra"] == {"reason": ["test"]}


async def test_a_client_certificate_names_its_user(tmp_path: Path) -> None:
    async with running(tmp_path) as site:
        pair = Certificates(tmp_path).client_pair("dave", ["dev"], site.front.api.registry.now())
        (tmp_path / "dave.pem").write_bytes(pair.certificate + pair.key)
        context = ssl.create_default_context(cadata=site.front.ca_pem)
        context.load_cert_chain(tmp_path / "dave.pem")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{site.front.url}{MAPS}", ssl=context) as response:
                refused = await response.json()
            assert 'User "dave" cannot list' in refused["message"]
            await grant(site, "dave", rule("list", "configmaps"))
            async with session.get(f"{site.front.url}{MAPS}", ssl=context) as response:
                assert response.status == 200
            await asyncio.sleep(0)


async def test_a_certificate_of_somebody_else_is_not_let_in(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    async with running(own) as site:
        now = site.front.api.registry.now()
        Certificates(other).renew(["localhost"], now)
        pair = Certificates(other).client_pair("admin", ["system:masters"], now)
        (tmp_path / "eve.pem").write_bytes(pair.certificate + pair.key)
        context = ssl.create_default_context(cadata=site.front.ca_pem)
        context.load_cert_chain(tmp_path / "eve.pem")
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):
                await session.get(f"{site.front.url}{MAPS}", ssl=context)


async def test_tls_works_with_the_kubeconfigs_authority_only(tmp_path: Path) -> None:
    async with running(tmp_path) as site:
        assert site.front.url.startswith("https://127.0.0.1:")
        assert (await site.call("GET /version")).status == 200
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.get(f"{site.front.url}/version")


@pytest.mark.parametrize("verb", ["escalate", "bind"])
async def test_nobody_grants_what_they_do_not_have_unless_they_may(verb: str) -> None:
    async with running() as site:
        await grant(
            site, "erin", rule("create update", "clusterroles clusterrolebindings", "rbac.authorization.k8s.io")
        )
        strong = role("strong", rule("get", "secrets"))
        if verb == "escalate":
            step, body = f"POST {RBAC}/clusterroles", strong
        else:
            await site.call(f"POST {RBAC}/clusterroles", strong)
            step, body = f"POST {RBAC}/clusterrolebindings", binding("b", "strong", "erin")
        refused = await site.call(step, body, Impersonate_User="erin")
        assert refused.status == 403
        assert refused.message.endswith(
            'user "erin" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
            '\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
        )
        if verb == "bind":
            nothing = await site.call(step, binding("b", "missing", "erin"), Impersonate_User="erin")
            sentence = 'clusterrolebindings.rbac.authorization.k8s.io "missing" not found'
            assert (nothing.status, nothing.message) == (404, sentence)
        more = binding("more", "more", "erin")
        await site.call(
            f"POST {RBAC}/clusterroles", role("more", rule(verb, "clusterroles", "rbac.authorization.k8s.io"))
        )
        await site.call(f"POST {RBAC}/clusterrolebindings", more)
        assert (await site.call(step, body, Impersonate_User="erin")).status == 201


async def test_new_clusters_have_the_roles_that_people_bind_others_to() -> None:
    async with running() as site:
        names = [item["metadata"]["name"] for item in (await site.call(f"GET {RBAC}/clusterroles")).body["items"]]
        assert {"admin", "cluster-admin", "edit", "system:basic-user", "system:discovery", "view"} <= set(names)
        await site.call(f"POST {RBAC}/clusterrolebindings", binding("b", "edit", "frank"))
        assert (await site.call(f"POST {MAPS}", config_map("a"), Impersonate_User="frank")).status == 201
        assert (await site.call(f"GET {MAPS}/a", Impersonate_User="frank")).status == 200  # through view
        assert (await site.call("DELETE /api/v1/nodes/n", Impersonate_User="frank")).status == 403
