"""The language of objects: what bodies mean, how they are patched, and who owns which field.

Everything here works on plain trees and is driven by the field tables (`shapes`) or by a custom kind's schema.
"""

from eachnode.objects.go_text import go_json as encode
from eachnode.server.schema.applying import applied
from eachnode.server.schema.canonical_form import canonical
from eachnode.server.schema.decoding import decode, decode_as
from eachnode.server.schema.ownership import track
from eachnode.server.schema.patching import APPLY, JSON, MERGE, STRATEGIC, languages, patched

__all__ = [
    "APPLY",
    "JSON",
    "MERGE",
    "STRATEGIC",
    "applied",
    "canonical",
    "decode",
    "decode_as",
    "encode",
    "languages",
    "patched",
    "track",
]
