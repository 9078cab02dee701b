/// The key of the outcome of an operation in a storage.
///
/// Both parts are made by the server, and storages compare them byte by byte.
public struct OperationKey: Sendable, Hashable {
  /// The device of the operation, as given to `ServerTransaction.remember`.
  public var device: String
  /// The name of the outcome among those of the device.
  public var operation: String

  /// Makes a key, for requests to a storage.
  public init(device: String, operation: String) {
    self.device = device
    self.operation = operation
  }
}
