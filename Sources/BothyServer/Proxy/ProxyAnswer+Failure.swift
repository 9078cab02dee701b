import BothyCache
import NIOHTTP1

extension ProxyAnswer {
  /// Returns the response to a failure of the cache. The time for which the origin gets no requests is told in whole
  /// seconds.
  static func failure(_ error: BothyError, _ onlyStored: Bool) -> ProxyAnswer {
    var answer = ProxyAnswer.problem(status(of: error, onlyStored), error.message, "fwd=miss")
    if let pause = error.retryAfter {
      let (seconds, rest) = pause.components
      answer.fields.add(name: "Retry-After", value: String(rest > 0 ? seconds.addingClamped(1) : seconds))
    }
    return answer
  }

  private static func status(of error: BothyError, _ onlyStored: Bool) -> Int {
    if onlyStored || error.code == .timedOut || error.code == .offline { return 504 }
    if error.code == .closed || error.code == .storage { return 503 }
    if let status = error.status, status >= 500 { return status }
    return error.retryAfter == nil ? 502 : 503
  }
}
