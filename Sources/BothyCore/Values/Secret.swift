/// Random texts that can't be guessed.
package enum Secret {
  /// Returns 256 random bits of the system's generator, in 64 lower-case hexadecimal digits.
  package static func make() -> String {
    (0..<32).map { _ in UInt8.random(in: 0...255) }.hexadecimal
  }

  /// Compares in constant time for texts of one length.
  package static func areEqual(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return zip(left.utf8, right.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
