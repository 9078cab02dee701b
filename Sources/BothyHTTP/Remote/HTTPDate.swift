import BothyStore
import HTTPTypes

/// Dates in the headers of answers (RFC 9110 section 5.6.7).
package enum HTTPDate {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Milliseconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`; nil for text of another form.
  static func milliseconds(_ text: String) -> Int64? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[1].utf8.count == 2, parts[3].utf8.count == 4,
      let month = months.firstIndex(of: String(parts[2]))
    else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return Timestamp(rfc3339: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")?.milliseconds
  }

  /// The most seconds that are told apart from longer waits (RFC 9111, 1.2.2).
  private static let longest: Double = 2_147_483_648

  /// The seconds of a `Retry-After` header, which may be a date: then from `date`, the answer's own.
  static func seconds(retryAfter text: String, date: String? = nil) -> Double? {
    // Longer than that is for ever; `nan` and `inf` are numbers for `Double` alone.
    if let seconds = Double(text) { return seconds.isFinite ? min(max(0, seconds), longest) : nil }
    guard let until = milliseconds(text), let now = date.flatMap(milliseconds) else { return nil }
    return Double(max(0, until - now)) / 1000
  }

  static func seconds(retryAfter headers: HTTPFields) -> Double? {
    headers[.retryAfter].flatMap { seconds(retryAfter: $0, date: headers[.date]) }
  }
}
