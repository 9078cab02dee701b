/// The name of a device among those of all users, for the notes of what it has pulled: the user's name with its length,
/// a slash, and the id that the device gave itself.
///
/// So no user changes the notes of another's device, and the notes of one user are a range.
package struct DeviceName: Sendable, Hashable {
  package let text: String
  /// The first possible name of a device of the user, and the one after the last.
  package let first: String
  package let end: String
  /// The id that the device gave itself.
  package let device: String

  package init(_ device: String, of user: Caller) {
    let name = user.name ?? ""
    let owner = "\(name.utf8.count):\(name)"
    self.init(owner: owner, device: device)
  }

  /// Reads a name, or returns `nil` for that of an earlier server.
  package init?(_ text: String) {
    let bytes = text.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let length = Int(text[..<colon]),
      (0...bytes.count).contains(length),
      let slash = bytes.index(bytes.index(after: colon), offsetBy: length, limitedBy: bytes.endIndex),
      slash < bytes.endIndex, bytes[slash] == UInt8(ascii: "/")
    else { return nil }
    self.init(
      owner: String(decoding: bytes[..<slash], as: UTF8.self),
      device: String(decoding: bytes[bytes.index(after: slash)...], as: UTF8.self))
  }

  private init(owner: String, device: String) {
    text = "\(owner)/\(device)"
    first = owner + "/"
    // The character after the slash.
    end = owner + "0"
    self.device = device
  }
}
