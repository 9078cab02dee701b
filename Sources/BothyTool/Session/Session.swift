import BothyHTTP
import BothyStore
import BothySync
import Foundation

/// A database opened for one command: the synced store, and its server.
struct Session {
  let store: SyncedStore
  let address: RemoteAddress?
  let connection: RemoteConnection
  let clock: CLIClock

  /// Opens an existing database, runs `body` and closes it. `configure` changes the policies first.
  static func with<Result>(
    _ options: DatabaseOptions, _ configure: (inout SyncOptions) -> Void = { _ in },
    _ body: (Session) async throws -> Result
  ) async throws -> Result {
    let clock = try CLIClock()
    let stored = try RemoteAddress.stored(at: options.path)
    let address = try options.remote.address(
      over: stored, synced: stored == nil ? SyncedStore.syncedSpace(at: options.path) : nil)
    var configuration = SyncOptions()
    configure(&configuration)
    let connection = RemoteConnection(to: address, schema: try LocalStore.storedSchema(at: options.path))
    var storeOptions = StoreOptions()
    storeOptions.damagedFile = .leave
    let store = try SyncedStore(
      existing: options.path, remote: connection.remote, configuration: configuration, options: storeOptions,
      clock: SyncClock(now: { clock.now() }))
    for file in store.store.damagedFiles {
      StandardStreams.note(
        "warning: \(file) was damaged and is quarantined. It may have changes that were never sent. Run "
          + "bothy db salvage \(file) --into \(options.path), or with --dismiss.")
    }
    return try await Session(store: store, address: address, connection: connection, clock: clock).run(body)
  }

  private func run<Result>(_ body: (Session) async throws -> Result) async throws -> Result {
    do {
      let result = try await body(self)
      try store.store.close()
      return result
    } catch {
      let explained = explained(error)
      try? store.store.close()  // the first error is the one to report
      throw explained
    }
  }

  /// Returns the error, or for a draft the one that names `bothy release`.
  private func explained(_ error: any Error) -> any Error {
    guard let error = error as? BothyError, error.code == .pendingChanges, let record = error.record,
      // A file that can't be read has no better explanation than the error.
      (try? store.state(of: record)) == .draft
    else { return error }
    return ToolError("\(record) is a draft. \(hint(ofDraft: record))")
  }

  var remote: any RemoteStorage { connection.remote }

  /// Returns the declared type. Throws `BothyError` `.unknownType`, which names the existing types.
  func type(_ name: String) throws -> TypeSchema {
    guard let type = store.store.schema[name] else {
      let known = store.store.schema.types.map(\.name).joined(separator: ", ")
      throw BothyError(.unknownType, "\(store.store.path) has no type '\(name)'. Known: \(known).")
    }
    return type
  }

  /// Returns the id of a record that a command writes by a policy.
  ///
  /// Throws for an unknown type, for a policy that needs a missing server, and with `isHere` for a missing record.
  func target(_ type: String, _ id: String, _ policy: WritePolicy?, isHere: Bool) throws -> RecordID {
    if policy == .remote || policy == .remoteThenLocal { try requireServer() }
    _ = try self.type(type)
    let record = RecordID(type: type, id: id)
    guard try !isHere || store.store.record(record) != nil else { throw Self.missing(record) }
    return record
  }

  static func missing(_ record: RecordID) -> ToolError {
    ToolError("The \(record.type) '\(record.id)' does not exist. List those there are: bothy db query.")
  }

  /// Throws if the database has no server.
  func requireServer() throws {
    guard address == nil else { return }
    throw ToolError(
      "\(store.store.path) has no server. Give one with --server URL --space NAME, or store one: "
        + "bothy db create DB --schema FILE --server URL --space NAME.")
  }
}
