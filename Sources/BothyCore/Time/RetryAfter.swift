/// The wait that a response demands in `Retry-After` (RFC 9110 §10.2.3).
package enum RetryAfter {
  /// The limit of a wait in seconds (RFC 9111 §1.2.2).
  private static let longest: Double = 2_147_483_648

  /// Returns the wait in milliseconds, 0 at least. Nil for text that is neither seconds nor a date.
  ///
  /// - Parameters:
  ///   - date: The response's own `Date`, to which a date in `text` is relative, so that a wrong clock does no harm.
  ///   - now: Milliseconds since 1970, used if `date` is missing. Nil if the clock isn't to be trusted.
  package static func milliseconds(_ text: String, date: String?, now: Int64?) -> Int64? {
    if text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let seconds = Double(text) {
      return Int64(exactly: (min(seconds, longest) * 1000).rounded())
    }
    guard let until = HTTPDate.milliseconds(text, now: now ?? 0),
      let from = date.flatMap({ HTTPDate.milliseconds($0, now: now ?? 0) }) ?? now
    else { return nil }
    return max(0, until.subtractingClamped(from))
  }
}
