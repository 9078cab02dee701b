import BothyCore
import Crypto

/// The signature of a call-out, by which a back end knows that the request comes from this server.
enum CalloutSignature {
  static let header = "Bothy-Signature"

  /// Returns `t=SECONDS,v1=HEX`: the time in seconds since 1970, and HMAC-SHA256 over the time's digits, a dot and the
  /// body.
  static func field(of body: [UInt8], at seconds: Int64, secret: [UInt8]) -> String {
    var code = HMAC<SHA256>(key: SymmetricKey(data: secret))
    code.update(data: Array("\(seconds).".utf8))
    code.update(data: body)
    return "t=\(seconds),v1=\(Array(code.finalize()).hexadecimal)"
  }
}
