// Exports the module that all targets share to apps: ids, JSON, times, back-off.
@_exported public import BothyCore
