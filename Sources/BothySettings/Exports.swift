// Errors and ids of the module that all targets share.
@_exported public import BothyCore
