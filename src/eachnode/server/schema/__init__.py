"""The language of objects: what bodies mean, how they are patched, and who owns which field.

Everything here works on plain trees and is driven by the field tables (`shapes`) or by a custom kind's schema.
"""

from eachnode.server.schema.canonical_form import Unreadable, canonical
from eachnode.server.schema.decoding import StrictComplaints, conform_patched, decode, decode_as
from eachnode.server.schema.json_text import encode

__all__ = ["StrictComplaints", "Unreadable", "canonical", "conform_patched", "decode", "decode_as", "encode"]
