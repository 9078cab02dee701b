/// The names that an app has with `import Bothy`: records in a local file, sync with a server, settings and views.
///
/// `BothyStore` is here as a whole. Each other name is here because an everyday task or a macro needs it. Other types
/// are used without their names, as in `options.schemaMismatch = .resetCache`. To write such a name down, import the
/// module that declares it, such as `BothySync`, or `BothyUI` for the models behind the property wrappers. Downloads, maps
/// and packs of data are modules of their own: `BothyCache`, `BothyGeo` and `BothyPacks`.
@_exported public import BothyStore

@_exported public import struct BothyHTTP.AccessToken
@_exported public import struct BothyHTTP.BothyRemote
@_exported public import struct BothyProtocol.Audience
@_exported public import enum BothyProtocol.ChangeKind
@_exported public import struct BothyProtocol.Rejection
@_exported public import struct BothyProtocol.SyncScope
@_exported public import struct BothyProtocol.UserList
@_exported public import struct BothySettings.AppGroupFolder
@_exported public import protocol BothySettings.HostedSettingsGroup
@_exported public import struct BothySettings.SettingsChange
@_exported public import class BothySettings.SettingsContainer
@_exported public import protocol BothySettings.SettingsGroup
@_exported public import struct BothySettings.SettingsStep
@_exported public import class BothySettings.SharedSettings
@_exported public import class BothySync.Account
@_exported public import struct BothySync.AccountFolder
@_exported public import struct BothySync.AccountID
@_exported public import enum BothySync.BlobState
@_exported public import struct BothySync.BlobStorage
@_exported public import struct BothySync.Conflict
@_exported public import struct BothySync.DecisionJournal
@_exported public import struct BothySync.FetchResult
@_exported public import struct BothySync.JournalEntry
@_exported public import struct BothySync.MergePolicies
@_exported public import struct BothySync.MergePolicy
@_exported public import struct BothySync.NetworkRules
@_exported public import struct BothySync.NoRemote
@_exported public import struct BothySync.Outbox
@_exported public import protocol BothySync.ReachabilityMonitor
@_exported public import enum BothySync.RecordState
@_exported public import protocol BothySync.RemoteStorage
@_exported public import enum BothySync.Resolution
@_exported public import struct BothySync.SaveReceipt
@_exported public import struct BothySync.SaveResult
@_exported public import struct BothySync.SharingControl
@_exported public import struct BothySync.StoreMaintenance
@_exported public import struct BothySync.StoreSubscriptions
@_exported public import enum BothySync.SyncDirection
@_exported public import enum BothySync.SyncObstacle
@_exported public import struct BothySync.SyncOptions
@_exported public import struct BothySync.SyncReport
@_exported public import struct BothySync.SyncStatus
@_exported public import class BothySync.SyncedStore
@_exported public import enum BothySync.Verdict
@_exported public import enum BothySync.WriteGrouping
@_exported public import enum BothySync.WritePolicy
@_exported public import struct BothyUI.LiveState

#if canImport(SwiftUI)
  @_exported public import struct BothyUI.Live
  @_exported public import struct BothyUI.LiveStatus
  @_exported public import struct BothyUI.Setting
#endif
