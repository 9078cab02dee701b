import Synchronization

/// A store for sensitive values until the server has them: a keychain, or files that only their owner can read. Every
/// method may be called from any thread, and its effect is durable when it returns.
///
/// ```swift
/// let secrets = FileSecretStore(folder: "/var/lib/huts/secrets")
/// for key in try secrets.keys() { show("\(key.field) of \(key.record) is not on the server yet.") }
/// ```
public protocol SecretStore: Sendable {
  /// Returns the value for `key`, or nil.
  func secret(_ key: SecretKey) throws -> String?
  /// Stores a value and replaces the one before. Removes it if `secret` is nil; does nothing without one.
  func set(_ secret: String?, for key: SecretKey) throws
  /// Returns the keys of all values, in any order.
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
  /// The record of the value.
  public var record: RecordID
  /// The name of the field.
  public var field: String

  /// Creates the key of one field's value.
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

  /// Creates an empty store.
  public init() {}

  public func secret(_ key: SecretKey) -> String? { secrets.withLock { $0[key] } }
  public func set(_ secret: String?, for key: SecretKey) { secrets.withLock { $0[key] = secret } }
  public func keys() -> [SecretKey] { secrets.withLock { Array($0.keys) } }
}
