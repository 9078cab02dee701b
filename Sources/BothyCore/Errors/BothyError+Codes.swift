// The codes of errors, by what an app does when they happen.

// MARK: records and files

extension BothyError.Code {
  /// A declaration breaks a rule: a name, a duplicate, a reference to a type that isn't declared.
  package static let invalidSchema = BothyError.Code("invalidSchema")
  /// The schema has no type of that name.
  package static let unknownType = BothyError.Code("unknownType")
  /// The type has no field of that name.
  package static let unknownField = BothyError.Code("unknownField")
  /// A value doesn't fit its field or setting: of another kind, null where one is required, not finite, off the earth,
  /// or over 1 GB.
  ///
  /// A write with this error changes nothing. The message names the record and the field. A read throws it for a stored
  /// value that this version of the app doesn't know. A default, or an optional field, shows such records too.
  public static let invalidValue = BothyError.Code("invalidValue")
  /// A query has a condition that the field's kind doesn't support, or a negative limit or offset.
  package static let invalidQuery = BothyError.Code("invalidQuery")
  /// The record, or the pack of a folder, doesn't exist.
  ///
  /// An update needs a record on this device. Use `insert` or `save` to create one. Install a pack before it is opened.
  /// A read of a single record returns `nil` instead.
  public static let notFound = BothyError.Code("notFound")
  /// A record with the inserted id exists already, or a file exists at the path of an export.
  ///
  /// Nothing was written. Use `save` or `update` to change the record, or choose another path.
  public static let alreadyExists = BothyError.Code("alreadyExists")
  /// Another record has the same value of a unique field. Nothing was written.
  ///
  /// The message names the field. As the kind of a `Rejection` it concerns a record on the server, which this device
  /// may not have.
  public static let uniqueViolation = BothyError.Code("uniqueViolation")
  /// A delete rule forbids it, because other records refer to the one to delete.
  ///
  /// Nothing was deleted. The message names a referring record and its field. Delete or change that record first.
  public static let denied = BothyError.Code("denied")
  /// A newer version of the app or of Bothy wrote the file or the pack, which is unchanged.
  ///
  /// Update the app. Until then nothing of the file can be read or written.
  public static let newerFile = BothyError.Code("newerFile")
  /// The stored data doesn't fit the declared types, and no migration converts it. It is unchanged.
  ///
  /// Declare a migration for the differences, which the message lists. A pack throws it for a type that it doesn't have
  /// in this form.
  public static let schemaMismatch = BothyError.Code("schemaMismatch")
  /// A step of a migration failed. The stored data is unchanged.
  ///
  /// The message names the file and the version of the step. `underlying` has the error of a failed step of a store.
  /// The next opening tries again.
  public static let migrationFailed = BothyError.Code("migrationFailed")
  /// The file belongs to another program or isn't a database. The file is unchanged.
  package static let notADatabase = BothyError.Code("notADatabase")
  /// The file is damaged. `bothy doctor` reports the details.
  ///
  /// By default the opening that finds the damage renames the file. The next opening creates a new one, and a sync
  /// brings back the server's records. `StoreMaintenance.salvage` recovers unsent changes from the renamed file.
  public static let corrupt = BothyError.Code("corrupt")
  /// The file doesn't exist, or the system doesn't allow to open it.
  package static let cannotOpen = BothyError.Code("cannotOpen")
  /// The file, its folder or the keychain isn't writable.
  ///
  /// Check the permissions of the file and its folder, or unlock the device. A plain `LocalStore` throws it too for a
  /// write in the file of a `SyncedStore`.
  public static let readOnly = BothyError.Code("readOnly")
  /// The disk is full, and nothing was written.
  ///
  /// Free some space and try again. A transaction was rolled back whole. A read of the cache doesn't fail for it: the
  /// bytes are returned, and `notStored` has the reason.
  public static let diskFull = BothyError.Code("diskFull")
  /// A write began inside another write of the same store, which blocks it forever.
  package static let nestedWrite = BothyError.Code("nestedWrite")
  /// SQLite ended a transaction by itself after an error inside it, such as a full disk. Nothing of it was written.
  package static let rolledBack = BothyError.Code("rolledBack")
  /// Another process holds the file or folder for too long, such as `StoreOptions.busyTimeout`.
  ///
  /// Nothing was written. The default is 5 seconds for stores and caches. Try again when the other process is done.
  public static let busy = BothyError.Code("busy")
  /// The task was cancelled, or the sync may not run now. A transaction was rolled back; a sync keeps what it did.
  ///
  /// A cancelled reader leaves a shared download, and its other readers still receive the response. For a sync the
  /// message names the reason, such as a pause or the network rules.
  public static let cancelled = BothyError.Code("cancelled")
  /// Any other failure of SQLite or of the disk. `underlying` has the details.
  package static let database = BothyError.Code("database")
}

// MARK: syncing

extension BothyError.Code {
  /// The server did not answer, and the local copy is missing or not allowed by the policy.
  ///
  /// A request that was sent may have reached the server. Pending changes stay, and sending them again does nothing
  /// twice. A download sets `retryAfter` if its host gets no requests for a time.
  public static let unreachable = BothyError.Code("unreachable")
  /// The type is written on the server only, and the device has no network. Nothing was changed.
  ///
  /// Queries that only the server can evaluate, and changes of shared lists, throw it too. Try again with a network.
  public static let requiresNetwork = BothyError.Code("requiresNetwork")
  /// The type stays on this device.
  package static let notSynced = BothyError.Code("notSynced")
  /// The server no longer accepts the token. Sign in again; pending changes stay pending.
  ///
  /// For a region of the map, the network wants a sign-in first, and the stored tiles stay. Reads under
  /// `ReadPolicy.local` need no token.
  public static let signInRequired = BothyError.Code("signInRequired")
  /// The server rejected the change or the request.
  ///
  /// `rejection` has the server's reason and the invalid fields, if the server judged a change. The message says if the
  /// change was kept among the rejected ones. Otherwise nothing was changed here. The same change will be rejected
  /// again.
  public static let rejected = BothyError.Code("rejected")
  /// Others changed the record since it was read, or keep changing it: read again, then try again.
  ///
  /// A merge policy that failed for an awaited change throws it too. The message says if the change stays among the
  /// rejected ones.
  public static let conflict = BothyError.Code("conflict")
  /// The server is too busy and asked to try again later.
  ///
  /// Pending changes stay. A running `SyncedStore.run()` waits for as long as the server says. Downloads have
  /// `.refused` with the `status` 429 or 503 instead.
  public static let throttled = BothyError.Code("throttled")
  /// The server failed and may have made the change or not.
  ///
  /// Pending changes stay, and sending them again does nothing twice. The server's log has the cause.
  public static let serverError = BothyError.Code("serverError")
  /// The store has changes that the server does not have yet.
  ///
  /// A reset and a sign-out throw it rather than lose them. A receipt throws it for a draft or a write that waits for
  /// one. Release drafts and sync first, or call with the parameter that discards them.
  public static let pendingChanges = BothyError.Code("pendingChanges")
  /// Values of the secret store are pending and can't be exported.
  ///
  /// No document holds them. Release drafts and sync first, or export without them. The records are drafts then, to
  /// complete later.
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
  ///
  /// Nothing was deleted or sent. Sync with the first server again, or decide by `adoptServer`, `uploadMine` or
  /// `keepApart` of `maintenance`.
  public static let otherServer = BothyError.Code("otherServer")
  /// The call waits for a sync that waits for the caller, such as a merge policy. Call it when the sync has ended.
  package static let insideSync = BothyError.Code("insideSync")
  /// The app holds a lock of the container for longer than `SyncOptions.lockTimeout`.
  package static let locked = BothyError.Code("locked")
  /// The record has no pending change to decide about.
  ///
  /// A sync may have sent it since the outbox was read. Read the outbox again; nothing was changed.
  public static let notPending = BothyError.Code("notPending")
  /// The change was undone on this device before the server decided.
  ///
  /// `SaveReceipt.result` throws it, each time it is called. The server has not accepted the change.
  public static let withdrawn = BothyError.Code("withdrawn")
  /// The journal no longer has the entry.
  ///
  /// It keeps entries by age, number and size. Raise `SyncOptions.journal` to keep them longer. `SaveReceipt.result`
  /// throws this error for a verdict that is no longer known. Fetch the record for its present state.
  public static let expired = BothyError.Code("expired")
  /// The replaced content of the journal's entry was restored before.
  ///
  /// Nothing was changed. Fetch the record to see its present content.
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
  ///
  /// `record` names it, and `underlying` has the error of the download if there was one. It may have been deleted, or
  /// be invisible to this user. The referring record stays readable.
  public static let relatedRecordUnavailable = BothyError.Code("relatedRecordUnavailable")
  /// Neither this device nor the server has the bytes of a blob.
  ///
  /// A name that isn't a SHA-256 in lower-case hexadecimal throws it too. The record that names the blob stays
  /// readable.
  public static let blobMissing = BothyError.Code("blobMissing")
  /// The bytes of a blob do not have the checksum that names it.
  ///
  /// The device never returns such bytes. If its own file is damaged, put the blob again. If the server's copy is
  /// damaged, try later: the server takes the blob from the next device that has it.
  public static let blobDamaged = BothyError.Code("blobDamaged")
  /// The server stores no blobs.
  package static let blobsUnsupported = BothyError.Code("blobsUnsupported")
}

// MARK: rejections

/// The codes of rejections beside `unknownType`, `uniqueViolation`, `tooLarge` and those of blobs.
extension BothyError.Code {
  /// The permissions don't allow the change.
  ///
  /// It is the `kind` of a `Rejection`, in the outbox or in `rejection` of an error with the code `.rejected`. Sending
  /// the same change again does not help.
  public static let forbidden = BothyError.Code("forbidden")
  /// A value doesn't fit the server's schema. The rejection names the fields.
  ///
  /// `Rejection.fields` has a message for each of them, to show at the field. Correct the values and save the record
  /// again.
  public static let invalid = BothyError.Code("invalid")
  /// A field refers to a record that the server doesn't have.
  ///
  /// `Rejection.FieldError.record` names the missing record if the user may see it. Save that record first, or change
  /// the field.
  public static let unknownReference = BothyError.Code("unknownReference")
  /// The merge policy threw, took too long, or returned no record. The server rejected nothing.
  ///
  /// The app's own policy is the cause, and the message has its error. An awaited change throws the code `.conflict`
  /// for it.
  public static let mergeFailed = BothyError.Code("mergeFailed")
}

// MARK: settings

extension BothyError.Code {
  /// The shared container doesn't exist or can't be used.
  ///
  /// For an App Group, add the group to the entitlements of the app and of each extension. For a folder of your own,
  /// create it first and check its permissions.
  public static let noContainer = BothyError.Code("noContainer")
  /// A newer version of the app wrote the group.
  ///
  /// The settings are unchanged, and this version can't write them. Update the app that throws it, such as an older
  /// extension.
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
  ///
  /// `underlying` has its error. Do not write the change again.
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
  ///
  /// Only `ReadPolicy.local` leads to it. Read with another policy to download the resource.
  public static let notCached = BothyError.Code("notCached")
  /// The cache has nothing stored that may be used, and its network is suspended or missing.
  ///
  /// A cache without a loader has no network. An entry may exist that its server forbids to use without a request, or
  /// that `ReadPolicy.remote` rules out. Call `resumeNetwork()`, or read under `.local`.
  public static let offline = BothyError.Code("offline")
  /// The server took longer than `SourceLimits.timeout` to begin or to continue its response.
  ///
  /// The default is 20 seconds without a byte. A refresh in the background has three times as long in all. A stored
  /// copy is unchanged, and the next read tries again.
  public static let timedOut = BothyError.Code("timedOut")
  /// The server responded with a status that isn't a resource. See `status`.
  ///
  /// Without a `status` the request was not sent or not followed: an invalid address, a missing user agent, or a
  /// refused redirect. The message names the remedy, and says if another try may help. `retryAfter` has the pause that
  /// the server demands.
  public static let refused = BothyError.Code("refused")
  /// The response isn't content of the source, such as a login page instead of a tile.
  ///
  /// The stored copy is unchanged. Sign in to the network, or correct the `content` of the source.
  public static let unexpectedContent = BothyError.Code("unexpectedContent")
  /// The body is longer than the source allows.
  ///
  /// `SourceLimits` allow 64 MiB by default. Nothing of the body was kept. A server's rejection has this kind for a
  /// record that is too large for it.
  public static let tooLarge = BothyError.Code("tooLarge")
  /// The server has said that the resource does not exist.
  ///
  /// The `status` is 204, 404 or 410. Calls that return bytes or a decoded value throw it. `ResourceCache.value`
  /// returns a resource whose `isAbsent` is true instead. A pinned copy stays, and a read that needs the server's
  /// answer throws this code for it.
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
  ///
  /// Nothing was loaded. Choose another source. With the owner's agreement, create the source with
  /// `allowsBulkDownload`.
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
  ///
  /// The message names the file. Install or build the pack again.
  public static let damagedFile = BothyError.Code("damagedFile")
  /// A file has other bytes than the manifest states.
  ///
  /// Only a verification reads all bytes of a file to find out. Install or build the pack again.
  public static let checksumMismatch = BothyError.Code("checksumMismatch")
  /// The pack isn't the one that is installed or was requested.
  package static let wrongPack = BothyError.Code("wrongPack")
  /// The rows for building a pack aren't valid.
  package static let invalidInput = BothyError.Code("invalidInput")
  /// The pack could not be loaded.
  ///
  /// Installed versions stay in use. `underlying` has the error of the download.
  public static let download = BothyError.Code("download")
  /// A folder or file can't be written.
  ///
  /// Check the permissions of the folder and the free space. The message has the path.
  public static let cannotWrite = BothyError.Code("cannotWrite")
}
