import BothyCache

/// The freshness rule of a source in words: `http`, `manual`, `immutable`, or a time such as `7d`.
struct FreshnessRecord: Codable, Equatable {
  var rule = "http"
  /// The bounds of the server's freshness lifetimes, and the default without one. They apply to `http` alone.
  var min: String?
  var max: String?
  var otherwise: String?
  /// The time for which the absence of a resource is cached.
  var negative: String?
  /// The value `always`, `never`, or the time for which a stale resource may replace the response of a failing server.
  var stale: String?
  /// The value `receipt` or `lastModified`, from which a fixed time is counted.
  var stamp: String?

  /// Returns the rule for the cache. Throws `ToolError`, which lists the valid words.
  func made() throws -> FreshnessRule {
    let times = [min, max, otherwise]
    guard rule == "http" || times.allSatisfy({ $0 == nil }) else {
      throw ToolError("Bounds of freshness go with the rule http: they bound what the server says.")
    }
    var result: FreshnessRule
    switch rule {
    case "http":
      result = .http(
        min: try Self.time(min) ?? .zero, max: try Self.time(max),
        otherwise: try Self.time(otherwise) ?? .zero)
    case "manual": result = .manual
    case "immutable": result = .immutable
    default:
      guard let time = try? Self.time(rule) else {
        throw ToolError(
          "'\(rule)' isn't a rule of freshness. There are http, manual, immutable, and times such as 7d or 12h."
        )
      }
      result = .fixed(time)
    }
    switch stamp {
    case nil, "receipt": break
    case "lastModified": result.stamp = .lastModified
    case let other?: throw ToolError("'\(other)' isn't a stamp. There are receipt and lastModified.")
    }
    if let negative = try Self.time(negative) { result.negativeLifetime = negative }
    switch stale {
    case nil, "always": break
    case "never": result.staleUse = .zero
    case let time?: result.staleUse = try Self.time(time) ?? .zero
    }
    return result
  }

  /// The text for people.
  var text: String {
    var parts = [rule]
    if let min { parts.append("at least \(min)") }
    if let max { parts.append("at most \(max)") }
    if let otherwise { parts.append("else \(otherwise)") }
    if let stamp { parts.append("from \(stamp)") }
    if let negative { parts.append("nothing for \(negative)") }
    if let stale { parts.append("stale \(stale)") }
    return parts.joined(separator: ", ")
  }

  private static func time(_ text: String?) throws -> Duration? {
    guard let text else { return nil }
    guard let milliseconds = CLIClock.offset("+" + text) else {
      throw ToolError("'\(text)' isn't a time. Write a number with w, d, h, m, s or ms: 7d, 1h30m.")
    }
    return .milliseconds(milliseconds)
  }
}
