"""What went wrong, in one sentence that says what to do, and the exit code for scripts.

1    the command could not do what it was asked
2    the command line was wrong (click's own), or `plan` found changes
64   the configuration is wrong: kubeconfig, context, credentials, a file
69   the server cannot be reached
77   the server refuses: not authenticated, not allowed
70   a fault of this program
"""

from __future__ import annotations

import errno

FAILED, CONFIGURATION, UNREACHABLE, INTERNAL, REFUSED = 1, 64, 69, 70, 77


class Failure(Exception):
    """Something a command cannot go on after; the message is the sentence that is shown."""

    def __init__(self, sentence: str, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.code = code


def explain_failure(error: BaseException) -> tuple[str, int]:
    """The sentence for people and the exit code for scripts."""
    from eachnode.client.credentials import ConfigError
    from eachnode.objects.explained import Explained
    from eachnode.objects.status import ApiError, Forbidden, Unauthorized, Unreachable

    if isinstance(error, BaseExceptionGroup) and error.exceptions:
        return explain_failure(error.exceptions[0])
    if isinstance(error, Failure):
        return str(error), error.code
    if isinstance(error, ConfigError):
        return str(error), CONFIGURATION
    if isinstance(error, Explained):
        return str(error), CONFIGURATION if isinstance(error, ValueError) else FAILED
    if isinstance(error, Unauthorized):
        return (
            f"{error.message}: the server does not know who you are; check the credentials in the kubeconfig",
            REFUSED,
        )
    if isinstance(error, Forbidden):
        return f"{error.message}; ask for this permission, or use another --context", REFUSED
    if isinstance(error, ApiError):
        return error.message, FAILED
    if isinstance(error, Unreachable):
        return f"{error}; is the server running, and is --kubeconfig or --context the right one?", UNREACHABLE
    if isinstance(error, OSError):
        return _os_sentence(error), FAILED
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"a fault of eachnode itself ({told}); run it again with --debug and report what it shows", INTERNAL


def _os_sentence(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{error.filename} is a file, and a directory is needed"
    if error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
        return f"{error.strerror}; choose another address with --listen (port 0 is any free one)"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
