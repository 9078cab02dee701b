// Read policies and errors of the module that all targets share.
@_exported public import BothyCore
