import Synchronization

/// A store for sensitive values until the server has them: a keychain, or files that only their owner can read. Every
/// method may be called from any thread, and its effect is durable when it returns.
///
/// Each database file needs a store of its own, because values that no pending change of the file needs are removed.
///
/// ```swift
/// let secrets = FileSecretStore(folder: "/var/lib/huts/secrets")
/// for key in try secrets.keys() { show("\(key.field) of \(key.record) is not on the server yet.") }
/// ```
///
/// Writes call it inside their transaction, so its time delays other writes.
public protocol SecretStore: Sendable {
  /// Returns the value for `key`, or nil. Called when a change of the record is sent, and before another value replaces
  /// it. Throws if the value can't be read, such as on a locked device.
  func secret(_ key: SecretKey) throws -> String?
  /// Stores a value and replaces the one before. Removes it if `secret` is nil; does nothing without one. Called just
  /// before the commit of a write. An error of it rolls the write back. The value that it replaces is stored under a key
  /// of its own until the write has ended, and put back if the write fails.
  func set(_ secret: String?, for key: SecretKey) throws
  /// Returns the keys of all values, in any order. Called to remove the values that no pending change needs.
  func keys() throws -> [SecretKey]
}

extension SecretStore {
  /// Removes a value. Does nothing without one.
  package func remove(_ key: SecretKey) throws { try set(nil, for: key) }
}

/// The name of a value: a field of a record.
///
/// ```swift
/// let secrets = FileSecretStore(folder: "/var/lib/huts/secrets")
/// let key = SecretKey(RecordID(type: "Membership", id: "ada"), field: "password")
/// show(try secrets.secret(key) == nil ? "sent" : "waits")
/// ```
public struct SecretKey: Sendable, Hashable {
  /// The record of the value. Its type has the name that it had when the value was written.
  public var record: RecordID
  /// The name of the field. Its local name in the schema, not that of the wire. That of a value which a write replaces
  /// has a `~` and a mark behind it.
  public var field: String

  /// Creates the key of one field's value. Checks nothing. Keys with equal records and fields are equal.
  public init(_ record: RecordID, field: String) {
    self.record = record
    self.field = field
  }
}

/// Secrets in memory, deleted with the process.
///
/// ```swift
/// let secrets = MemorySecretStore()
/// let store = try SyncedStore(
///   at: nil, schema: [Todo.self], remote: .none, options: StoreOptions(secrets: secrets))
/// ```
public final class MemorySecretStore: SecretStore {
  private let secrets = Mutex<[SecretKey: String]>([:])

  /// Creates an empty store. Each store has values of its own, so share one instance between stores of one file.
  public init() {}

  /// Returns the value for `key`, or nil. Never throws.
  public func secret(_ key: SecretKey) -> String? { secrets.withLock { $0[key] } }
  /// Stores a value, or removes it if `secret` is nil. Never throws. Values are lost when the process ends.
  public func set(_ secret: String?, for key: SecretKey) { secrets.withLock { $0[key] = secret } }
  /// Returns the keys of all values, in any order. Never throws.
  public func keys() -> [SecretKey] { secrets.withLock { Array($0.keys) } }
}
