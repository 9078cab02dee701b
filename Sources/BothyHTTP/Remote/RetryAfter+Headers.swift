import BothyCore
import HTTPTypes

extension RetryAfter {
  /// The seconds that an answer asks to wait; nil where it asks for none. A date counts only beside the answer's own.
  static func seconds(_ headers: HTTPFields) -> Double? {
    seconds(headers[.retryAfter], date: headers[.date])
  }

  static func seconds(_ text: String?, date: String?) -> Double? {
    text.flatMap { milliseconds($0, date: date, now: nil) }.map { Double($0) / 1000 }
  }
}
