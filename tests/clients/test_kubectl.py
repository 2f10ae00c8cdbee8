"""kubectl, the oldest and the newest found here, against `eachnode up`: each command does what people know it to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.clients.kubectls import Kubectl, binaries
from tests.processes import Server, started

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("kubectl")]

EXAMPLES = Path(__file__).parents[2] / "examples"
NODES = 3
BINARIES: list[Path | None] = [*binaries()] or [None]

WEB = """
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: web
  labels: {team: blue}
  annotations: {kubernetes.io/change-cause: first}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - {name: main, image: "app:1", ports: [{containerPort: 80}], env: [{name: A, value: "1"}]}
      - {name: side, image: "side:1"}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started("up", "--nodes", str(NODES)) as running:
        yield running


@pytest.fixture(scope="module", params=BINARIES, ids=lambda path: path.name if path else "none")
def anywhere(request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl in the namespace `default`."""
    if request.param is None:
        pytest.skip("there is no kubectl on PATH")
    return Kubectl(request.param, server.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def kubectl(anywhere: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl in a namespace of its own."""
    name = f"{request.node.originalname}-{anywhere.binary.name}".replace("_", "-").replace(".", "-")[-60:].strip("-")
    anywhere(f"create namespace {name}")
    yield replace(anywhere, namespace=name)
    anywhere(f"delete namespace {name} --wait=false")


def rolled_out(kubectl: Kubectl, manifest: str = WEB) -> None:
    """The DaemonSet web, on every node."""
    kubectl("apply -f -", stdin=manifest)
    kubectl("rollout status ds/web --timeout=20s")


def image(kubectl: Kubectl) -> str:
    """The image of the first container."""
    return kubectl("get ds web -o jsonpath={.spec.template.spec.containers[0].image}")


def test_it_finds_its_way(anywhere: Kubectl) -> None:
    assert "v1.37" in anywhere("version")
    resources = anywhere("api-resources --no-headers -o wide")
    assert "daemonsets" in resources
    assert "ControllerRevision" in resources
    assert "apps/v1" in anywhere("api-versions").splitlines()
    assert anywhere("get --raw /readyz") == "ok"
    assert "is running at" in anywhere("cluster-info")
    assert "the server doesn't have a resource type" in anywhere("get nonsense", fails=True)
    assert [row["STATUS"] for row in anywhere.table("get nodes -o wide")] == ["Ready"] * NODES
    assert "node-1" in anywhere("get nodes -L topology.kubernetes.io/zone -l kubernetes.io/hostname=node-1")


def test_create_makes_what_is_not_there_yet(kubectl: Kubectl) -> None:
    assert kubectl("create --dry-run=client -o name -f -", stdin=WEB) == "daemonset.apps/web\n"
    assert "created (server dry run)" in kubectl("create --dry-run=server -f -", stdin=WEB)
    assert "No resources found" in kubectl("get ds")
    assert kubectl("create -f -", stdin=WEB) == "daemonset.apps/web created\n"
    assert '"web" already exists' in kubectl("create -f -", stdin=WEB, fails=True)
    for line in (
        "configmap c --from-literal=a=b",
        "secret generic s --from-literal=a=b",
        "serviceaccount bot",
        "quota q --hard=pods=30",
        "poddisruptionbudget b --selector=app=web --min-available=1",
        "role reader --verb=get,list --resource=pods",
        "rolebinding readers --role=reader --user=bob",
        "service clusterip s --tcp=80:80",
    ):
        assert " created" in kubectl(f"create {line}")
    assert "could not find the requested resource" in kubectl("create deployment d --image=i", fails=True)


def test_create_names_what_is_wrong(kubectl: Kubectl) -> None:
    misspelt = WEB.replace("image: ", "imagge: ")
    refused = kubectl("create -f -", stdin=misspelt, fails=True)
    assert 'unknown field "spec.template.spec.containers[0].imagge"' in refused
    refused = kubectl(
        "create --validate=false -f -", stdin=WEB.replace("{app: web}}\n    spec", "{}}\n    spec"), fails=True
    )
    assert 'The DaemonSet "web" is invalid' in refused
    assert "`selector` does not match template `labels`" in refused
    refused = kubectl("create -f -", stdin=WEB.replace("80", "eighty"), fails=True)
    assert "cannot be handled as a DaemonSet" in refused


def test_apply_by_the_client_changes_what_differs(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", stdin=WEB) == "daemonset.apps/web created\n"
    assert kubectl("apply -f -", stdin=WEB) == "daemonset.apps/web unchanged\n"
    assert kubectl("get ds web -o jsonpath={.metadata.generation}") == "1"
    changed = WEB.replace("app:1", "app:2").replace('env: [{name: A, value: "1"}]', 'env: [{name: B, value: "2"}]')
    difference = kubectl("diff -f -", stdin=changed, fails=True)
    for line in ("-        - name: A", "+        - name: B", "-        image: app:1", "+        image: app:2"):
        assert line in difference.splitlines()
    assert "configured (server dry run)" in kubectl("apply --dry-run=server -f -", stdin=changed)
    assert image(kubectl) == "app:1"
    assert "configured" in kubectl("apply -f -", stdin=changed)
    assert kubectl("diff -f -", stdin=changed) == ""
    assert kubectl("get ds web -o jsonpath={..env[*].name}") == "B"
    applied = yaml.safe_load(kubectl("apply view-last-applied ds/web"))
    assert applied["spec"]["template"]["spec"]["containers"][0]["image"] == "app:2"


def test_apply_by_the_server_knows_who_owns_what(kubectl: Kubectl) -> None:
    assert kubectl("apply --server-side -f -", stdin=WEB) == "daemonset.apps/web serverside-applied\n"
    version = kubectl("get ds web -o jsonpath={.metadata.resourceVersion}.{.metadata.generation}")
    assert version.endswith(".1")
    other = WEB.replace("app:1", "app:2")
    refused = kubectl("apply --server-side --field-manager=other -f -", stdin=other, fails=True)
    assert 'conflict with "kubectl": .spec.template.spec.containers[name="main"].image' in refused
    kubectl("apply --server-side --field-manager=other --force-conflicts -f -", stdin=other)
    assert image(kubectl) == "app:2"
    managers = json.loads(kubectl("get ds web -o json --show-managed-fields"))["metadata"]["managedFields"]
    owners = {entry["manager"]: entry["fieldsV1"] for entry in managers if entry["operation"] == "Apply"}
    fields = {name: field["f:spec"]["f:template"]["f:spec"]["f:containers"] for name, field in owners.items()}
    assert "f:image" in fields["other"]['k:{"name":"main"}']
    assert "f:image" not in fields["kubectl"]['k:{"name":"main"}']
    without_env = other.replace(', env: [{name: A, value: "1"}]', "")
    for manager in ("other", "kubectl"):
        kubectl(f"apply --server-side --field-manager={manager} --force-conflicts -f -", stdin=without_env)
    assert kubectl("get ds web -o jsonpath={..env}") == ""


def test_get_in_every_output(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    (row,) = kubectl.table("get ds")
    age = row.pop("AGE")
    assert age.endswith("s")
    counts = dict.fromkeys(("DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE"), str(NODES))
    assert row == {"NAME": "web", **counts, "NODE SELECTOR": "<none>"}
    (wide,) = kubectl.table("get ds -o wide")
    assert (wide["CONTAINERS"], wide["IMAGES"], wide["SELECTOR"]) == ("main,side", "app:1,side:1", "app=web")
    assert kubectl("get ds -o name") == "daemonset.apps/web\n"
    assert json.loads(kubectl("get ds web -o json"))["kind"] == "DaemonSet"
    assert json.loads(kubectl("get ds -o json"))["kind"] == "List"
    assert yaml.safe_load(kubectl("get ds/web -o yaml"))["status"]["numberReady"] == NODES
    columns = "custom-columns=NAME:.metadata.name,IMAGES:.spec.template.spec.containers[*].image"
    assert kubectl.table(f"get ds -o {columns}") == [{"NAME": "web", "IMAGES": "app:1,side:1"}]
    path = '{range .items[*]}{.metadata.name}={.status.numberReady}{"\\n"}{end}'
    assert kubectl("get ds -o", f"jsonpath={path}") == f"web={NODES}\n"
    assert kubectl("get ds -o", "go-template={{range .items}}{{.metadata.name}};{{end}}") == "web;"
    assert "web" in kubectl("get ds -A --no-headers --show-labels -l team=blue")
    assert "No resources found" in kubectl("get ds -l team=red")


def test_get_of_pods_revisions_and_everything(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    pods = kubectl.table("get pods -o wide --sort-by=.spec.nodeName")
    assert [pod["NODE"] for pod in pods] == ["node-1", "node-2", "node-3"]
    assert {(pod["READY"], pod["STATUS"], pod["RESTARTS"]) for pod in pods} == {("2/2", "Running", "0")}
    (pod,) = kubectl.table("get pods --field-selector spec.nodeName=node-2")
    assert pod["NAME"] == pods[1]["NAME"]
    assert 'pods "nobody" not found' in kubectl("get pod nobody", fails=True)
    (revision,) = kubectl.table("get controllerrevisions")
    assert (revision["CONTROLLER"], revision["REVISION"]) == ("daemonset.apps/web", "1")
    everything = kubectl("get all")
    assert "daemonset.apps/web" in everything
    assert "pod/web-" in everything
    assert "Created pod: web-" in kubectl("events --for ds/web")
    assert "SuccessfulCreate" in kubectl("get events --sort-by=.lastTimestamp")


def test_describe_tells_the_whole_story(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    told = kubectl("describe ds web")
    for line in (
        "Selector:       app=web",
        f"Desired Number of Nodes Scheduled: {NODES}",
        f"Number of Nodes Scheduled with Up-to-date Pods: {NODES}",
        f"Number of Nodes Scheduled with Available Pods: {NODES}",
        "Number of Nodes Misscheduled: 0",
        f"Pods Status:  {NODES} Running / 0 Waiting / 0 Succeeded / 0 Failed",
        "daemonset-controller  Created pod: web-",
    ):
        assert line in told
    told = kubectl("describe pods -l app=web")
    assert "Controlled By:  DaemonSet/web" in told
    assert "node.kubernetes.io/unreachable:NoExecute op=Exists" in told
    assert "Successfully assigned" in told
    told = kubectl("describe node node-1")
    assert "KubeletReady" in told
    assert "HolderIdentity:  node-1" in told
    for kind in ("controllerrevision", "namespace", "serviceaccount", "configmap"):
        assert "Name:" in kubectl(f"describe {kind}")


def test_explain_knows_every_field(anywhere: Kubectl) -> None:
    told = anywhere("explain daemonset.spec.updateStrategy.rollingUpdate")
    assert "maxUnavailable" in told
    assert "maxSurge" in told
    assert "hostPath" in anywhere("explain ds --recursive")
    assert 'field "nonsense" does not exist' in anywhere("explain ds.spec.nonsense", fails=True)


def test_patches_of_every_kind(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    part = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:2"}]}}}}'
    assert kubectl("patch ds web -p", part) == "daemonset.apps/web patched\n"
    assert kubectl("patch ds web -p", part) == "daemonset.apps/web patched (no change)\n"
    kubectl("patch ds web --type=merge -p", '{"metadata":{"labels":{"team":null}}}')
    change = '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"app:3"}]'
    kubectl("patch ds web --type=json -p", change)
    assert kubectl("get ds web -o jsonpath={..image}") == "app:3 side:2"
    assert kubectl("get ds web -o jsonpath={.metadata.labels.team}") == ""
    missing = '[{"op":"remove","path":"/spec/nothing"}]'
    kubectl("patch ds web --type=json -p", missing, fails=True)
    status = '{"status":{"capacity":{"example.com/thing":"3"}}}'
    kubectl("patch node node-3 --subresource=status --type=merge -p", status)
    assert kubectl("get node node-3 -o", r"jsonpath={.status.capacity.example\.com/thing}") == "3"


def test_edit_writes_what_the_editor_leaves(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    assert "edited" in kubectl("edit ds web", editor="sed -i s/app:1/app:2/")
    assert image(kubectl) == "app:2"
    assert "no changes made" in kubectl("edit ds web", editor="true")


def test_labels_and_annotations(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    assert "labeled" in kubectl("label ds web stage=test")
    assert "--overwrite is false" in kubectl("label ds web stage=live", fails=True)
    assert "labeled" in kubectl("label ds web stage=live --overwrite")
    assert kubectl("get ds -l stage=live -o name") == "daemonset.apps/web\n"
    assert "labeled" in kubectl("label ds web stage-")
    kubectl("annotate ds web note=this")
    assert kubectl("get ds web -o jsonpath={.metadata.annotations.note}") == "this"
    assert "a valid label must" in kubectl("label ds web", "a=not/valid", fails=True)


def test_taints_cordon_and_drain(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    kubectl("taint node node-1 dedicated=other:NoExecute")
    kubectl("wait ds/web --for=jsonpath={.status.currentNumberScheduled}=2 --timeout=20s")
    kubectl("taint node node-1 dedicated-")
    kubectl("rollout status ds/web --timeout=20s")
    assert kubectl("cordon node-2") == "node/node-2 cordoned\n"
    assert kubectl.table("get node node-2")[0]["STATUS"] == "Ready,SchedulingDisabled"
    kubectl("run lonely --image=i --overrides", '{"spec":{"nodeName":"node-2"}}')
    kubectl("wait pod/lonely --for=condition=Ready --timeout=20s")
    assert "cannot delete DaemonSet-managed Pods" in kubectl("drain node-2 --force", fails=True)
    drained = kubectl("drain node-2 --force --ignore-daemonsets --timeout=20s")
    assert "ignoring DaemonSet-managed Pods" in drained
    assert "node/node-2 drained" in drained
    assert "not found" in kubectl("get pod lonely", fails=True)
    assert kubectl.table("get ds")[0]["AVAILABLE"] == str(NODES)
    assert kubectl("uncordon node-2") == "node/node-2 uncordoned\n"


def test_an_eviction_respects_a_disruption_budget(kubectl: Kubectl) -> None:
    kubectl("run kept --image=i --labels=app=kept")
    kubectl("create pdb all --selector=app=kept --min-available=1")
    kubectl("wait pod/kept --for=condition=Ready --timeout=20s")
    eviction = json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "kept"}})
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/kept/eviction"
    refused = kubectl(f"create --raw {path} -f -", stdin=eviction, fails=True)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused
    kubectl("delete pdb all")
    kubectl(f"create --raw {path} -f -", stdin=eviction)
    kubectl("wait pod/kept --for=delete --timeout=20s")


def test_delete_takes_the_pods_too_or_leaves_them_or_waits_for_them(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    assert "(server dry run)" in kubectl("delete ds web --dry-run=server")
    assert "(dry run)" in kubectl("delete ds web --dry-run=client")
    before = sorted(kubectl("get pods -o name").splitlines())
    assert 'daemonset.apps "web" deleted' in kubectl("delete ds web --cascade=orphan")
    assert sorted(kubectl("get pods -o name").splitlines()) == before
    rolled_out(kubectl)
    assert sorted(kubectl("get pods -o name").splitlines()) == before
    kubectl("delete ds web --cascade=foreground --timeout=20s")
    assert "No resources found" in kubectl("get pods,ds,controllerrevisions")
    rolled_out(kubectl)
    kubectl("delete ds web --cascade=background")
    kubectl("wait pod -l app=web --for=delete --timeout=20s")
    assert 'daemonsets.apps "web" not found' in kubectl("delete ds web", fails=True)
    assert kubectl("delete ds web --ignore-not-found") == ""


def test_a_deleted_pod_is_replaced_where_it_was(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    before = {pod["NODE"]: pod["NAME"] for pod in kubectl.table("get pods -o wide")}
    kubectl(f"delete pod {before['node-2']} --timeout=20s")
    kubectl("rollout status ds/web --timeout=20s")
    kubectl("wait ds/web --for=jsonpath={.status.numberReady}=3 --timeout=20s")
    after = {pod["NODE"]: pod["NAME"] for pod in kubectl.table("get pods -o wide")}
    assert {node for node in before if before[node] != after[node]} == {"node-2"}


def test_a_deleted_namespace_takes_everything_along(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    name = f"{kubectl.namespace}-2"[-60:].strip("-")
    kubectl(f"create namespace {name}")
    inside = replace(kubectl, namespace=name)
    rolled_out(inside)
    assert "deleted" in kubectl(f"delete namespace {name} --timeout=20s")
    assert "not found" in kubectl(f"get namespace {name}", fails=True)
    assert "No resources found" in inside("get all")


def test_set_image_environment_and_resources(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    assert "(server dry run)" in kubectl("set image ds/web main=app:9 --dry-run=server")
    assert image(kubectl) == "app:1"
    assert "image updated" in kubectl("set image ds/web main=app:2")
    assert 'unable to find container named "nobody"' in kubectl("set image ds/web nobody=i", fails=True)
    assert "env updated" in kubectl("set env ds/web -c main B=2 A-")
    assert "resource requirements updated" in kubectl("set resources ds web -c main --limits=cpu=0.5,memory=64Mi")
    kubectl("set serviceaccount ds web default")
    kubectl("rollout status ds/web --timeout=20s")
    spec = json.loads(kubectl("get ds web -o json"))["spec"]["template"]["spec"]
    main = spec["containers"][0]
    assert main["image"] == "app:2"
    assert main["env"] == [{"name": "B", "value": "2"}]
    assert main["resources"] == {"limits": {"cpu": "500m", "memory": "64Mi"}}
    assert spec["serviceAccountName"] == "default"
    assert "B=2" in kubectl("set env ds/web --list")


def test_a_rollout_and_its_history(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    kubectl("annotate ds web kubernetes.io/change-cause=second --overwrite")
    kubectl("set image ds/web main=app:2")
    assert 'daemon set "web" successfully rolled out' in kubectl("rollout status ds/web --timeout=20s")
    assert _history(kubectl) == {"1": "first", "2": "second"}
    assert "app:1" in kubectl("rollout history ds/web --revision=1")
    assert "unable to find the specified revision" in kubectl("rollout history ds/web --revision=7", fails=True)
    assert "app:1" in kubectl("rollout undo ds/web --dry-run=client")
    assert "rolled back (server dry run)" in kubectl("rollout undo ds/web --dry-run=server")
    assert image(kubectl) == "app:2"
    assert "rolled back" in kubectl("rollout undo ds/web")
    kubectl("rollout status ds/web --timeout=20s")
    assert image(kubectl) == "app:1"
    assert _history(kubectl) == {"2": "second", "3": "first"}
    assert "rolled back" in kubectl("rollout undo ds/web --to-revision=2")
    assert image(kubectl) == "app:2"
    kubectl("rollout status ds/web --timeout=20s")
    assert _history(kubectl) == {"3": "first", "4": "second"}
    kubectl("rollout undo ds/web --to-revision=4")  # It is there already: skipped by kubectl or without an effect.
    assert _history(kubectl) == {"3": "first", "4": "second"}
    assert kubectl("get ds web -o jsonpath={.metadata.generation}") == "4"
    refused = kubectl("rollout undo ds/web --to-revision=99", fails=True)
    assert "unable to find specified revision 99 in history" in refused


def _history(kubectl: Kubectl) -> dict[str, str]:
    lines = kubectl("rollout history ds/web").strip().splitlines()[2:]
    return dict(line.split(maxsplit=1) for line in lines)


def test_restart_replaces_every_pod(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    before = set(kubectl("get pods -o name").splitlines())
    assert "daemonset.apps/web restarted" in kubectl("rollout restart ds/web")
    kubectl("rollout status ds/web --timeout=20s")
    assert not before & set(kubectl("get pods -o name").splitlines())
    assert "pausing is not supported" in kubectl("rollout pause ds/web", fails=True)
    assert "resuming is not supported" in kubectl("rollout resume ds/web", fails=True)


def test_an_image_that_cannot_be_had_stops_the_rollout_and_undo_mends_it(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    kubectl("set image ds/web main=app:non-existent")
    told = kubectl("rollout status ds/web --timeout=2s", fails=True)
    assert f'Waiting for daemon set "web" rollout to finish: 1 out of {NODES} new pods have been updated' in told
    assert {"ErrImagePull", "ImagePullBackOff"} & {pod["STATUS"] for pod in kubectl.table("get pods")}
    (row,) = kubectl.table("get ds")
    assert (row["READY"], row["UP-TO-DATE"]) == (str(NODES - 1), "1")
    kubectl("rollout undo ds/web")
    kubectl("rollout status ds/web --timeout=20s")
    assert kubectl.table("get ds")[0]["AVAILABLE"] == str(NODES)


def test_wait_awaits_conditions_values_and_deletion(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    assert kubectl("wait pods --all --for=condition=Ready --timeout=20s").count("condition met") == NODES
    kubectl("wait ds/web --for=jsonpath={.status.numberAvailable}=3 --timeout=20s")
    refused = kubectl("wait ds/web --for=jsonpath={.status.numberReady}=7 --timeout=1s", fails=True)
    assert "timed out waiting" in refused
    kubectl("delete ds web --wait=false")
    kubectl("wait pod -l app=web --for=delete --timeout=20s")


def test_get_shows_changes_as_they_come(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    with kubectl.watching("get ds -w --no-headers -o custom-columns=G:.metadata.generation") as lines:
        assert next(lines).strip() == "1"
        kubectl("set image ds/web main=app:2")
        assert "2" in (line.strip() for line in lines)
    with kubectl.watching("get pods --watch-only --output-watch-events --no-headers") as lines:
        kubectl("rollout restart ds/web")
        seen = {next(lines).split()[0] for _ in range(NODES)}
        assert seen <= {"ADDED", "MODIFIED", "DELETED"}


def test_scaling_is_refused_as_the_reference_does(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    assert "could not find the requested resource" in kubectl("scale ds web --replicas=2", fails=True)
    assert "cannot autoscale a DaemonSet" in kubectl("autoscale ds web --min=1 --max=3", fails=True)
    assert "cannot expose a DaemonSet" in kubectl("expose ds web --port=80", fails=True)


def test_logs_say_that_nothing_runs(kubectl: Kubectl) -> None:
    rolled_out(kubectl)
    assert 'container "main" (app:1) is simulated' in kubectl("logs ds/web -c main")
    assert 'container "side" (side:1) is simulated' in kubectl("logs -l app=web --all-containers")


@pytest.mark.parametrize("line", ["exec ds/web -- ls", "attach ds/web", "port-forward ds/web 0:80"])
def test_what_needs_a_running_container_is_refused(kubectl: Kubectl, line: str) -> None:
    rolled_out(kubectl)
    assert "the server could not find the requested resource" in kubectl(line, fails=True)


def test_a_service_has_an_address_where_nobody_listens(kubectl: Kubectl) -> None:
    kubectl("create service clusterip web --tcp=80")
    assert kubectl("get service web -o jsonpath={.spec.clusterIP}").startswith("10.")
    assert "not found" in kubectl("get endpoints web", fails=True)


def test_auth_tells_what_one_may(kubectl: Kubectl) -> None:
    kubectl("create serviceaccount agent")
    kubectl("create role reader --verb=get,list,watch --resource=pods")
    kubectl(f"create rolebinding readers --role=reader --serviceaccount={kubectl.namespace}:agent")
    agent = f"--as=system:serviceaccount:{kubectl.namespace}:agent"
    assert kubectl("auth can-i create daemonsets") == "yes\n"
    assert kubectl(f"auth can-i list pods {agent}") == "yes\n"
    assert kubectl(f"auth can-i delete pods {agent}", fails=True) == "no\n"
    assert "pods" in kubectl(f"auth can-i --list {agent}")
    refused = kubectl(f"delete pods --all {agent} --namespace=default", fails=True)
    assert "cannot list resource" in refused
    role = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: reader, namespace: {kubectl.namespace}}}
rules: [{{apiGroups: [""], resources: [pods, configmaps], verbs: [get, list]}}]
"""
    assert "reconciled" in kubectl("auth reconcile -f -", stdin=role)
    assert kubectl(f"auth can-i list configmaps {agent}") == "yes\n"


def test_replace_puts_a_whole_object_in_place(kubectl: Kubectl) -> None:
    assert "not found" in kubectl("replace -f -", stdin=WEB, fails=True)
    rolled_out(kubectl)
    assert "replaced" in kubectl("replace -f -", stdin=WEB.replace("app:1", "app:2"))
    assert image(kubectl) == "app:2"
    uid = kubectl("get ds web -o jsonpath={.metadata.uid}")
    assert "replaced" in kubectl("replace --force -f -", stdin=WEB)
    assert kubectl("get ds web -o jsonpath={.metadata.uid}") != uid


def test_a_custom_kind_is_a_kind_like_any_other(anywhere: Kubectl) -> None:
    definition = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gauges, singular: gauge, kind: Gauge, shortNames: [gg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Level, type: integer, jsonPath: .spec.level}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [level]
            properties: {level: {type: integer, maximum: 10}, unit: {type: string, default: bar}}
"""
    gauge = "apiVersion: example.com/v1\nkind: Gauge\nmetadata: {name: g}\nspec: {level: 3}\n"
    anywhere("apply -f -", stdin=definition)
    anywhere("wait crd/gauges.example.com --for=condition=Established --timeout=20s")
    assert "gauge.example.com/g created" in anywhere("apply -f -", stdin=gauge)
    assert anywhere("get gg -o jsonpath={.items[0].spec.unit}") == "bar"
    assert anywhere.table("get gauges") == [{"NAME": "g", "LEVEL": "3"}]
    refused = anywhere("apply -f -", stdin=gauge.replace("3", "30"), fails=True)
    assert "should be less than or equal to 10" in refused
    assert "level" in anywhere("explain gauge.spec")
    anywhere("delete crd gauges.example.com --timeout=20s")
    assert "could not find the requested resource" in anywhere("get gauges", fails=True)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_accepted(anywhere: Kubectl, example: Path) -> None:
    documents = [each for each in yaml.safe_load_all(example.read_text()) if "stages" not in each]
    text = yaml.safe_dump_all(documents)
    if documents:
        assert "(server dry run)" in anywhere("create --dry-run=server -f -", stdin=text)
