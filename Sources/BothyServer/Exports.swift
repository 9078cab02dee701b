// What programs that embed the server see of its rule and its ledgers.
@_exported public import BothySyncService
