import Synchronization

/// The seam to where sensitive values are until the server has them: a keychain, or files that only their owner may
/// read. Every method may be called from any thread, and what it did is durable when it returns.
public protocol SecretStore: Sendable {
  /// The value that was set for `key`; nil when there is none.
  func secret(_ key: SecretKey) throws -> String?
  /// Keeps a value, in place of the one before.
  func set(_ secret: String, for key: SecretKey) throws
  /// Removes a value; none is no error.
  func remove(_ key: SecretKey) throws
  /// The keys of all values, in any order.
  func keys() throws -> [SecretKey]
}

/// Which value: a field of a record.
public struct SecretKey: Sendable, Hashable {
  /// The record that the value is of.
  public var record: RecordID
  /// The name of the field.
  public var field: String

  /// The key of one field's value.
  public init(_ record: RecordID, field: String) {
    self.record = record
    self.field = field
  }
}

/// Secrets in memory, gone with the process.
public final class MemorySecretStore: SecretStore {
  private let secrets = Mutex<[SecretKey: String]>([:])

  /// Empty.
  public init() {}

  public func secret(_ key: SecretKey) -> String? { secrets.withLock { $0[key] } }
  public func set(_ secret: String, for key: SecretKey) { secrets.withLock { $0[key] = secret } }
  public func remove(_ key: SecretKey) { secrets.withLock { $0[key] = nil } }
  public func keys() -> [SecretKey] { secrets.withLock { Array($0.keys) } }
}
