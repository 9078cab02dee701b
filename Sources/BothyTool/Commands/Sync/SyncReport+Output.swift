import BothyStore
import BothySync

/// A sync report as text.
extension SyncReport {
  /// The work of the sync on one line, and each problem on another.
  var text: String {
    var lines = ["Sent \(pushed), received \(pulled), \(requests) request\(requests == 1 ? "" : "s")."]
    if uploadedBlobs > 0 { lines.append("Uploaded \(uploadedBlobs) blob\(uploadedBlobs == 1 ? "" : "s").") }
    lines += rejected.map { "Rejected: \($0.operation.rawValue) of \($0.record): \($0.message)" }
    let undone = Set(rejected.map(\.record))
    lines += overwritten.map { lost in
      undone.contains(lost.record)
        ? "Undone, because it was rejected: \(lost.record)"
        : "Gave way to what another device or person changed: \(lost.record)"
    }
    if !lost.isEmpty {
      let names = lost.prefix(5).map { "\($0)" }.joined(separator: ", ")
      lines.append(
        "No longer on the server: \(names)\(lost.count > 5 ? " and \(lost.count - 5) more" : "")")
    }
    if !givenBack.isEmpty {
      let count = givenBack.count == 1 ? "1 record" : "\(givenBack.count) records"
      lines.append("Gave the server \(count) that it lacked or had as before.")
    }
    lines += blocked.map { "Blocked: \($0.record) waits for \($0.by)" }
    lines += unreadable.map { "Quarantined: \($0.record) can't be read here. \($0.reason)" }
    if let stop { lines.append("Not finished: \(stop.name).") }
    return lines.joined(separator: "\n")
  }
}

extension SyncHealth.Failing {
  /// The start, number, cause and remedy of the failures.
  var text: String {
    let begin = Timestamp(milliseconds: since).rfc3339
    let often =
      count == 1 ? "1 try" : "\(count) tries, the last at \(Timestamp(milliseconds: last).rfc3339)"
    return "since \(begin) (\(often)): \(reason.name). \(reason.sentence) \(reason.remedy)"
  }
}

extension SyncStop {
  /// The event and the remedy.
  var message: String {
    switch self {
    case .unreachable(let message): "\(message) \(ErrorMessage.network)"
    case .signInRequired(let message): "\(message) \(ErrorMessage.authentication)"
    case .throttled(let message): "\(message) Try again later."
    case .serverError(let message): "\(message) Look at the server's log."
    case .refused("insecureAddress", let message): "\(message) That is --allow-http."
    case .refused(_, let message): "\(message) \(remedy)"
    case .alreadyRunning: "\(sentence) \(remedy)"
    case .paused: "\(sentence) Resume syncing in the app, or sync with --force."
    case .expensiveNetwork, .constrainedNetwork, .lowPower, .signedOut: "\(sentence) \(remedy)"
    case .updateRequired(let message): message
    case .otherServer(let message): "\(message) \(remedy)"
    case .cancelled: "It was cancelled."
    }
  }
}
