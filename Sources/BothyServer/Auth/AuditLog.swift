import BothySyncService
import HTTPTypes
import Logging

/// Logs each refusal of access, so that operators can detect break-in attempts. An entry has the user, the address and
/// the reason, but never a token or content of a record.
struct AuditLog: Sendable {
  let logger: Logger

  /// The facts known about a request so far.
  struct Subject: Sendable {
    var requestID: String
    var peer: String?
    var method = ""
    var route = "unmatched"
    var user: String?
    var space: String?
    /// The id of the trace that the caller's own span belongs to.
    var trace: String?
  }

  /// Logs a request whose response is 401, 403 or 429.
  func refused(_ subject: Subject, status: Int, reason: String) {
    logger.notice(
      "access refused", metadata: Self.metadata(subject, ["status": "\(status)", "reason": "\(reason)"]))
  }

  /// Logs the operations of a sync that the permissions refuse.
  func refused(_ outcomes: [Outcome], _ subject: Subject) {
    let forbidden = outcomes.count { outcome in
      if case .rejected(let rejection) = outcome.verdict { rejection.code == "forbidden" } else { false }
    }
    guard forbidden > 0 else { return }
    logger.notice(
      "access refused",
      metadata: Self.metadata(subject, ["operations": "\(forbidden)", "reason": "permissions"]))
  }

  static func metadata(_ subject: Subject, _ more: Logger.Metadata) -> Logger.Metadata {
    var metadata = more
    metadata["request"] = "\(subject.requestID)"
    metadata["method"] = "\(LogText.safe(subject.method))"
    metadata["route"] = "\(subject.route)"
    if let peer = subject.peer { metadata["peer"] = "\(peer)" }
    if let user = subject.user { metadata["principal"] = "\(LogText.safe(user))" }
    if let space = subject.space { metadata["space"] = "\(LogText.safe(space))" }
    if let trace = subject.trace { metadata["trace"] = "\(trace)" }
    return metadata
  }
}

/// Makes text that callers chose safe for a line of a log.
enum LogText {
  /// Returns at most 128 characters, without line ends, terminal controls and quotes.
  static func safe(_ text: String) -> String {
    let isPlain = text.utf8.count <= 128 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 }
    if isPlain { return text }
    var safe = ""
    for scalar in text.unicodeScalars.prefix(128) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
        safe += "\\u{\(String(scalar.value, radix: 16))}"
      default: if scalar == "\"" { safe += "'" } else { safe.unicodeScalars.append(scalar) }
      }
    }
    return safe
  }
}
