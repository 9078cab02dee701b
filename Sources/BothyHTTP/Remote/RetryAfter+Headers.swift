import BothyCore
package import HTTPTypes

extension RetryAfter {
  /// Returns the pause in seconds that a response requests, or `nil`. A date needs the response's own `Date`.
  package static func seconds(_ headers: HTTPFields) -> Double? {
    seconds(headers[.retryAfter], date: headers[.date])
  }

  package static func seconds(_ text: String?, date: String?) -> Double? {
    text.flatMap { milliseconds($0, date: date, now: nil) }.map { Double($0) / 1000 }
  }
}
