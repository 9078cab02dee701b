// The sync service and storage types that programs which embed the server use.
@_exported public import BothySyncService
