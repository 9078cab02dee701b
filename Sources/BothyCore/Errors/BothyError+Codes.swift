// The codes of errors, by what an app does when they happen.

// MARK: records and files

extension BothyError.Code {
  /// A declaration breaks a rule: a name, a duplicate, a reference to a type that isn't declared.
  package static let invalidSchema = BothyError.Code("invalidSchema")
  /// The schema has no type of that name.
  package static let unknownType = BothyError.Code("unknownType")
  /// The type has no field of that name.
  package static let unknownField = BothyError.Code("unknownField")
  /// A value doesn't fit its field or setting: of another kind, null where one is required, off the earth, or over
  /// 1 GB.
  public static let invalidValue = BothyError.Code("invalidValue")
  /// A query has a condition that the field's kind doesn't support, or a negative limit or offset.
  package static let invalidQuery = BothyError.Code("invalidQuery")
  /// The record, or the pack of a folder, doesn't exist.
  public static let notFound = BothyError.Code("notFound")
  /// A record with the inserted id exists already.
  public static let alreadyExists = BothyError.Code("alreadyExists")
  /// Another record has the same value of a unique field.
  public static let uniqueViolation = BothyError.Code("uniqueViolation")
  /// A delete rule forbids it, because other records refer to the one to delete.
  public static let denied = BothyError.Code("denied")
  /// A newer version of the app or of Bothy wrote the file or the pack, which is unchanged.
  public static let newerFile = BothyError.Code("newerFile")
  /// The stored data doesn't fit the declared types, and no migration converts it. It is unchanged.
  public static let schemaMismatch = BothyError.Code("schemaMismatch")
  /// A step of a migration failed. The stored data is unchanged.
  public static let migrationFailed = BothyError.Code("migrationFailed")
  /// The file belongs to another program or isn't a database. The file is unchanged.
  package static let notADatabase = BothyError.Code("notADatabase")
  /// The file is damaged. `bothy doctor` reports the details.
  public static let corrupt = BothyError.Code("corrupt")
  /// The file doesn't exist, or the system doesn't allow to open it.
  package static let cannotOpen = BothyError.Code("cannotOpen")
  /// The file, its folder or the keychain isn't writable.
  public static let readOnly = BothyError.Code("readOnly")
  /// The disk is full, and nothing was written.
  public static let diskFull = BothyError.Code("diskFull")
  /// A write began inside another write of the same store, which blocks it forever.
  package static let nestedWrite = BothyError.Code("nestedWrite")
  /// SQLite ended a transaction by itself after an error inside it, such as a full disk. Nothing of it was written.
  package static let rolledBack = BothyError.Code("rolledBack")
  /// Another process holds the file or folder for too long, such as `StoreOptions.busyTimeout`.
  public static let busy = BothyError.Code("busy")
  /// The task was cancelled, or the sync may not run now. A transaction was rolled back; a sync keeps what it did.
  public static let cancelled = BothyError.Code("cancelled")
  /// Any other failure of SQLite or of the disk. `underlying` has the details.
  package static let database = BothyError.Code("database")
}

// MARK: syncing

extension BothyError.Code {
  /// The server did not answer. What was asked for isn't on this device, or the policy doesn't allow the local
  /// copy.
  public static let unreachable = BothyError.Code("unreachable")
  /// The type is written on the server only, and the device has no network.
  public static let requiresNetwork = BothyError.Code("requiresNetwork")
  /// The type stays on this device.
  package static let notSynced = BothyError.Code("notSynced")
  /// The server no longer accepts the token. Sign in again; pending changes stay pending. For a region of the map, the
  /// network wants a sign-in first, and the stored tiles stay.
  public static let signInRequired = BothyError.Code("signInRequired")
  /// The server rejected the change; nothing was changed here.
  public static let rejected = BothyError.Code("rejected")
  /// Others changed the record since it was read, or keep changing it: read again, then try again.
  public static let conflict = BothyError.Code("conflict")
  /// The server is too busy and asked to try again later.
  public static let throttled = BothyError.Code("throttled")
  /// The server failed and may have made the change or not.
  public static let serverError = BothyError.Code("serverError")
  /// The store has changes that the server does not have yet.
  public static let pendingChanges = BothyError.Code("pendingChanges")
  /// Values of the secret store are pending and can't be exported.
  public static let pendingSecrets = BothyError.Code("pendingSecrets")
  /// The file belongs to another account.
  package static let wrongAccount = BothyError.Code("wrongAccount")
  /// The account was signed out; open it again.
  package static let signedOut = BothyError.Code("signedOut")
  /// A document of pending changes can't be read or doesn't fit.
  package static let badDocument = BothyError.Code("badDocument")
  /// The server accepts only newer versions of the app.
  package static let updateRequired = BothyError.Code("updateRequired")
  /// The transaction has more records than can be sent at once; nothing was changed.
  package static let tooManyTogether = BothyError.Code("tooManyTogether")
  /// The server is another one than the file was synced with, or lacks acknowledged records. See
  /// `maintenance.adoptServer`.
  public static let otherServer = BothyError.Code("otherServer")
  /// The call waits for a sync that waits for the caller, such as a merge policy. Call it when the sync has ended.
  package static let insideSync = BothyError.Code("insideSync")
  /// The app holds a lock of the container for longer than `SyncOptions.lockTimeout`.
  package static let locked = BothyError.Code("locked")
  /// The record has no pending change to decide about.
  public static let notPending = BothyError.Code("notPending")
  /// The change was undone on this device before the server decided.
  public static let withdrawn = BothyError.Code("withdrawn")
  /// The journal no longer has the entry.
  public static let expired = BothyError.Code("expired")
  /// The replaced content of the journal's entry was restored before.
  public static let alreadyRestored = BothyError.Code("alreadyRestored")
  /// The journal's entry has no replaced content, or the content doesn't fit the app's schema.
  package static let notRestorable = BothyError.Code("notRestorable")
  /// The server's answer doesn't follow the protocol.
  package static let protocolViolation = BothyError.Code("protocolViolation")
  /// The cache is off, and the policy requires it.
  package static let cacheDisabled = BothyError.Code("cacheDisabled")
  /// The condition has fields that only the server knows, and the policy doesn't use the server.
  package static let notLocallyEvaluable = BothyError.Code("notLocallyEvaluable")
  /// A record that another refers to isn't here and could not be downloaded.
  public static let relatedRecordUnavailable = BothyError.Code("relatedRecordUnavailable")
  /// Neither this device nor the server has the bytes of a blob.
  public static let blobMissing = BothyError.Code("blobMissing")
  /// The bytes of a blob do not have the checksum that names it.
  public static let blobDamaged = BothyError.Code("blobDamaged")
  /// The server stores no blobs.
  package static let blobsUnsupported = BothyError.Code("blobsUnsupported")
}

// MARK: rejections

/// The codes of rejections beside `unknownType`, `uniqueViolation`, `tooLarge` and those of blobs.
extension BothyError.Code {
  /// The permissions don't allow the change.
  public static let forbidden = BothyError.Code("forbidden")
  /// A value doesn't fit the server's schema. The rejection names the fields.
  public static let invalid = BothyError.Code("invalid")
  /// A field refers to a record that the server doesn't have.
  public static let unknownReference = BothyError.Code("unknownReference")
  /// The merge policy threw, took too long, or returned no record. The server rejected nothing.
  public static let mergeFailed = BothyError.Code("mergeFailed")
}

// MARK: settings

extension BothyError.Code {
  /// The shared container doesn't exist or can't be used.
  public static let noContainer = BothyError.Code("noContainer")
  /// A newer version of the app wrote the group.
  public static let newerSchema = BothyError.Code("newerSchema")
  /// The stored group, or the server's record, can't be read.
  package static let unreadable = BothyError.Code("unreadable")
  /// Two types of the app use one name in one home.
  package static let nameTaken = BothyError.Code("nameTaken")
  /// A commit was made inside the closure of a write of the same home.
  package static let nestedUpdate = BothyError.Code("nestedUpdate")
  /// Commits from `didUpdate` never ended.
  package static let recursionLimit = BothyError.Code("recursionLimit")
  /// The change is durable, but `didUpdate` threw.
  public static let didUpdateFailed = BothyError.Code("didUpdateFailed")
  /// The file holds no group of that name.
  package static let unknownGroup = BothyError.Code("unknownGroup")
  /// The group has no setting of that name.
  package static let unknownKey = BothyError.Code("unknownKey")
}

// MARK: downloads

extension BothyError.Code {
  /// The source of the key isn't registered.
  package static let unknownSource = BothyError.Code("unknownSource")
  /// Another source has that id already.
  package static let sourceConflict = BothyError.Code("sourceConflict")
  /// The description of a source contradicts itself: its address, its id, its hosts or its zooms.
  package static let invalidSource = BothyError.Code("invalidSource")
  /// The address, text or number names no resource or tile of the source.
  package static let invalidKey = BothyError.Code("invalidKey")
  /// The source has no tiles of that zoom.
  package static let zoomOutOfRange = BothyError.Code("zoomOutOfRange")
  /// A setting is invalid, such as a negative interval or a file that isn't a dictionary.
  package static let invalidConfiguration = BothyError.Code("invalidConfiguration")
  /// The cache has no entry, and the read was limited to the cache.
  public static let notCached = BothyError.Code("notCached")
  /// The cache has no entry, and its network is suspended or missing.
  public static let offline = BothyError.Code("offline")
  /// The server took longer than `SourceLimits.timeout` to begin or to continue its response.
  public static let timedOut = BothyError.Code("timedOut")
  /// The server responded with a status that isn't a resource. See `status`.
  public static let refused = BothyError.Code("refused")
  /// The response isn't content of the source, such as a login page instead of a tile.
  public static let unexpectedContent = BothyError.Code("unexpectedContent")
  /// The body is longer than the source allows.
  public static let tooLarge = BothyError.Code("tooLarge")
  /// The server has said that the resource does not exist.
  public static let absent = BothyError.Code("absent")
  /// The bytes do not decode to the requested value.
  package static let undecodable = BothyError.Code("undecodable")
  /// The store on disk failed.
  package static let storage = BothyError.Code("storage")
  /// The cache or pack is closed and no longer reads or loads.
  package static let closed = BothyError.Code("closed")
}

// MARK: maps

extension BothyError.Code {
  /// A latitude, longitude, radius or box that isn't a number or is out of range.
  package static let invalidCoordinate = BothyError.Code("invalidCoordinate")
  /// A column, row or zoom that no tile has.
  package static let invalidTile = BothyError.Code("invalidTile")
  /// An area that needs more tiles than allowed.
  package static let tooManyTiles = BothyError.Code("tooManyTiles")
  /// Bytes that aren't a tile of the expected format.
  package static let notATile = BothyError.Code("notATile")
  /// A category table that can't be read.
  package static let invalidCategories = BothyError.Code("invalidCategories")
  /// A file that isn't an archive of tiles, or one of an unknown version.
  package static let notAnArchive = BothyError.Code("notAnArchive")
  /// An archive that contradicts itself or can't be read to its end.
  package static let damagedArchive = BothyError.Code("damagedArchive")
  /// An archive that was replaced by another while it was being read.
  package static let changedArchive = BothyError.Code("changedArchive")
  /// A file or address that can't be read or written.
  package static let unavailable = BothyError.Code("unavailable")
  /// A file of places that was damaged and recreated.
  package static let damagedPlaces = BothyError.Code("damagedPlaces")
  /// A region that can't be loaded because it has no name, no source or no tiles.
  package static let invalidRegion = BothyError.Code("invalidRegion")
  /// A source whose owner forbids loading tiles in bulk before they are viewed.
  public static let bulkForbidden = BothyError.Code("bulkForbidden")
  /// A region of this name exists already.
  package static let regionExists = BothyError.Code("regionExists")
  /// The region doesn't exist.
  package static let unknownRegion = BothyError.Code("unknownRegion")
  /// Another task or process is loading the region.
  package static let regionBusy = BothyError.Code("regionBusy")
  /// Loading stopped before the end. Resuming continues it.
  package static let interrupted = BothyError.Code("interrupted")
}

// MARK: packs

extension BothyError.Code {
  /// The manifest isn't valid.
  package static let corruptManifest = BothyError.Code("corruptManifest")
  /// The manifest names a file outside of its folder.
  package static let unsafeName = BothyError.Code("unsafeName")
  /// A file is missing, has another length than in the manifest, or isn't a database of this pack.
  public static let damagedFile = BothyError.Code("damagedFile")
  /// A file has other bytes than the manifest states.
  public static let checksumMismatch = BothyError.Code("checksumMismatch")
  /// The pack isn't the one that is installed or was requested.
  package static let wrongPack = BothyError.Code("wrongPack")
  /// The rows for building a pack aren't valid.
  package static let invalidInput = BothyError.Code("invalidInput")
  /// The pack could not be loaded.
  public static let download = BothyError.Code("download")
  /// A folder or file can't be written.
  public static let cannotWrite = BothyError.Code("cannotWrite")
}
