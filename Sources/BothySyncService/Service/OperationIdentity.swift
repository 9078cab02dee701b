import BothyStore
import Crypto

/// Where a ledger keeps the outcome of an operation.
public struct OperationKey: Sendable, Hashable {
  /// Whose operation it is, as `LedgerTransaction.remember` was told.
  public var device: String
  /// The name of the outcome among those of the device.
  public var operation: String

  /// What a ledger is asked for.
  public init(device: String, operation: String) {
    self.device = device
    self.operation = operation
  }
}

/// Names under which outcomes are remembered: one for each principal, device, id, kind, record and base.
///
/// Another principal's operation, or one on another record under a known id, is another operation: it is judged for
/// itself.
struct OperationIdentity {
  /// The device's name among those of all principals.
  let device: String
  private let formerDevice: String

  init(_ device: String, of principal: Principal) {
    let name = principal.name ?? ""
    // The length keeps `ab` + `c` from being `a` + `bc`.
    self.device = "\(name.utf8.count):\(name)\(device)"
    formerDevice = device
  }

  func key(_ operation: SyncOperation) -> OperationKey {
    OperationKey(device: device, operation: operation.id + " " + Self.digest(operation))
  }

  /// The name before outcomes were bound to principals. Such an outcome may be anybody's: it tells that the operation
  /// was done, and never what the record is.
  func formerKey(_ operation: SyncOperation) -> OperationKey {
    OperationKey(device: formerDevice, operation: operation.id)
  }

  /// 128 bits of SHA-256 over what the operation does to which record. Fields and the type's name are left out: an update
  /// of the app rewrites both between two sendings, and the second must be known for what the first was. Group and time
  /// may differ too. Secrets are left out, so that they can't be guessed from the ledger.
  private static func digest(_ operation: SyncOperation) -> String {
    var writer = JSONWriter(reserving: 256)
    writer.beginObject()
    for (name, value) in [
      ("id", operation.id), ("kind", operation.kind.rawValue), ("type", ""), ("record", operation.record.id),
    ] {
      writer.key(name)
      writer.value(value)
    }
    if let base = operation.base {
      writer.key("base")
      writer.value(base)
    }
    if let after = operation.after {
      writer.key("after")
      writer.value(after)
    }
    if operation.kind != .delete {
      writer.key("fields")
      writer.beginObject()
      writer.endObject()
    }
    writer.endObject()
    return SHA256.hash(data: writer.bytes).prefix(16).hexadecimal
  }
}
