import BothyCore

/// The reason why a call-out has no answer. It is logged, and has nothing of a record or an answer.
struct CalloutOutage: Error, Sendable, Hashable, CustomStringConvertible {
  var description: String
  /// True if the back end didn't answer, so that other requests are spared the wait.
  var isSilent = false

  static let late = CalloutOutage(description: "the back end did not answer in time", isSilent: true)
  static let unreachable = CalloutOutage(description: "the back end can't be reached", isSilent: true)
  static let paused = CalloutOutage(description: "the back end did not answer a moment ago")
  static let crowded = CalloutOutage(description: "too many requests wait for the back end")

  static func status(_ status: Int) -> CalloutOutage {
    CalloutOutage(description: "the back end answered with the status \(status)")
  }

  static func answer(_ problem: String) -> CalloutOutage {
    CalloutOutage(description: "the back end's answer can't be used: \(problem)")
  }

  /// Returns what `read` finds in an answer. Throws an outage that has nothing of the answer if it throws.
  static func reading<Value>(_ read: () throws -> Value) throws(CalloutOutage) -> Value {
    do { return try read() } catch let error as JSONError {
      // The error's own words may have names from the answer.
      throw .answer("its JSON is not as agreed at byte \(error.offset)")
    } catch { throw .answer("it can't be read") }
  }
}
