import BothyStore
import Crypto

/// The names under which outcomes are remembered: one for each user, device, id, kind, record and base.
///
/// The operation of another user, or on another record under a known id, is another operation. It is decided
/// separately.
struct OperationIdentity {
  /// The device's name among those of all users.
  let device: String
  private let formerDevice: String

  init(_ device: String, of user: Caller) {
    let name = user.name ?? ""
    // The length distinguishes `ab` + `c` from `a` + `bc`.
    self.device = "\(name.utf8.count):\(name)\(device)"
    formerDevice = device
  }

  func key(_ operation: SyncOperation) -> OperationKey {
    OperationKey(device: device, operation: operation.id + " " + Self.digest(operation))
  }

  /// Returns the name from the time before outcomes were bound to users. Such an outcome may belong to any user. It
  /// confirms the operation and never reveals the record.
  func formerKey(_ operation: SyncOperation) -> OperationKey {
    OperationKey(device: formerDevice, operation: operation.id)
  }

  /// Returns 128 bits of SHA-256 over the operation's kind, record and base. Fields and the type's name are left out,
  /// because an update of the app may rewrite both between two sendings of one operation. Group and time may differ
  /// too. Secrets are left out, so that they can't be guessed from the storage.
  private static func digest(_ operation: SyncOperation) -> String {
    var writer = JSONWriter(reserving: 256)
    writer.beginObject()
    for (name, value) in [
      ("id", operation.id), ("kind", operation.kind.rawValue), ("type", ""), ("record", operation.record.id),
    ] {
      writer.member(name, value)
    }
    if let base = operation.base { writer.member("base", base) }
    if let after = operation.after { writer.member("after", after) }
    if operation.kind != .delete {
      writer.key("fields")
      writer.beginObject()
      writer.endObject()
    }
    writer.endObject()
    return SHA256.hash(data: writer.bytes).prefix(16).hexadecimal
  }
}
