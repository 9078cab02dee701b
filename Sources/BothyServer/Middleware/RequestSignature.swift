import BothyStore
import Crypto
import Foundation

/// The signature of a request to a team's own program, by the rules of standardwebhooks.com: HMAC-SHA256 of id, time
/// and body.
package enum RequestSignature {
  private static let prefix = "whsec_"
  /// The fewest bytes of a key.
  private static let shortest = 24

  /// Returns the fields `webhook-id`, `webhook-timestamp` and `webhook-signature`.
  ///
  /// - Parameter time: in seconds since 1970.
  static func fields(id: String, time: Int64, body: [UInt8], keys: [[UInt8]]) -> [String: String] {
    [
      "webhook-id": id, "webhook-timestamp": String(time),
      "webhook-signature": field(id: id, time: time, body: body, keys: keys),
    ]
  }

  /// Returns the field `webhook-signature`: for each key `v1,` and the signature in Base64, with spaces between them.
  ///
  /// - Parameter time: in seconds since 1970.
  package static func field(id: String, time: Int64, body: [UInt8], keys: [[UInt8]]) -> String {
    let text = Array("\(id).\(time).".utf8) + body
    return keys.map { key in
      let code = HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: key))
      return "v1," + Data(code).base64EncodedString()
    }.joined(separator: " ")
  }

  /// Returns the keys of a secret's file. Throws `BothyError` for a file without a key, or with one that is too short.
  ///
  /// - Parameter name: the receiver, for the message of an error.
  package static func keys(_ text: [UInt8], of name: String) throws -> [[UInt8]] {
    let lines = text.split { $0 == 0x0A || $0 == 0x0D }.map(Array.init)
    let keys = try lines.map { line in
      guard line.starts(with: Array(prefix.utf8)) else { return line }
      let encoded = String(decoding: line.dropFirst(prefix.utf8.count), as: UTF8.self)
      guard let key = Data(base64Encoded: encoded) else {
        throw BothyError(
          .invalidValue, "A secret of \(name) begins with whsec_ and isn't Base64.")
      }
      return Array(key)
    }
    guard !keys.isEmpty, keys.allSatisfy({ $0.count >= shortest }) else {
      throw BothyError(
        .invalidValue,
        "The requests to \(name) need a secret of \(shortest) bytes or more. Make one: openssl rand -hex 32")
    }
    return keys
  }
}
