// What apps see of the room that all targets share: ids, JSON, times, back-off.
@_exported public import BothyCore
