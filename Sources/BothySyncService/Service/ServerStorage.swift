/// A server's storage: records with their positions, and the outcomes of operations, by space.
///
/// Positions are assigned inside the writing transaction while the space is locked. So position order is commit order
/// for every reader and for any number of processes. Calls may be made from any task, for any number of spaces at a
/// time. The test suite `ServerStorageConformance` has the requirements of a storage.
public protocol ServerStorage: Sendable {
  /// The identity of this database, created with it and kept by its copies.
  ///
  /// Devices know that of their file's server, and changes to another one are refused. It costs no read.
  var identity: String { get }

  /// Runs `body` in one transaction that holds the space's lock. All of its writes are durable when this returns, and
  /// none if it throws.
  ///
  /// The storage may undo the work and run `body` again, after a conflict with other writes or a lost connection. So
  /// `body` changes nothing but its transaction. Other writes of the space wait until it ends.
  ///
  /// - Throws: the error of `body`, which undoes everything. `StorageUnavailable` if the storage can't be used for now.
  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result

  /// Runs `body` on one consistent state of the space, with every write that any process has answered before.
  ///
  /// The storage may run `body` again on another such state. A space without writes is empty, with the head 0. Meant
  /// for short reads: long ones use `search(space:within:_:)`.
  ///
  /// - Throws: the error of `body`, or `StorageUnavailable`.
  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result

  /// Like `read(space:_:)`, but for long reads, which never delay short ones.
  ///
  /// The limit counts from the call, the wait for a connection included.
  ///
  /// - Throws: `SyncServiceError` `.tooExpensive` after `limit`, and `CancellationError` if the task is cancelled.
  func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result

  /// Returns at once if the storage can be read, for the health check of a server. Throws `StorageUnavailable` if the
  /// failure may pass.
  func check() async throws

  /// The storage's operations for operators, or `nil` if it has none.
  var upkeep: (any ServerMaintenance)? { get }
}

extension ServerStorage {
  /// Reads the head of a space without a name, in one transaction.
  ///
  /// It waits for a connection like any other read.
  public func check() async throws { _ = try await read(space: "") { $0.head } }

  /// Reads like `read(space:_:)`, for storages that can't end a read.
  ///
  /// The limit has no effect, and a cancelled task waits for the end.
  public func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try await read(space: space, body)
  }

  /// The storage itself if it is a `ServerMaintenance`.
  ///
  /// A storage without upkeep keeps tombstones and outcomes forever.
  public var upkeep: (any ServerMaintenance)? { self as? any ServerMaintenance }
}
