import BothyCache

/// How long what a source brings counts as fresh, in words: `http`, `manual`, `immutable`, or a time like `7d`.
struct FreshnessRecord: Codable, Equatable {
  var rule = "http"
  /// Bounds of what the server says, and what counts when it says nothing; under `http` alone.
  var min: String?
  var max: String?
  var otherwise: String?
  /// How long it is remembered that there is nothing.
  var negative: String?
  /// `always`, `never`, or how long what is stale may stand in for a server that fails.
  var stale: String?
  /// `receipt` or `lastModified`: what a fixed time is counted from.
  var stamp: String?

  /// The rule for the cache. Throws `ToolError` with the words there are.
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
          "'\(rule)' is no rule of freshness. There are http, manual, immutable, and times such as 7d or 12h."
        )
      }
      result = .fixed(time)
    }
    switch stamp {
    case nil, "receipt": break
    case "lastModified": result.stamp = .lastModified
    case let other?: throw ToolError("'\(other)' is no stamp. There are receipt and lastModified.")
    }
    if let negative = try Self.time(negative) { result.negativeLifetime = negative }
    switch stale {
    case nil, "always": break
    case "never": result.staleUse = .never
    case let time?: result.staleUse = .upTo(try Self.time(time) ?? .zero)
    }
    return result
  }

  /// What people read.
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
    guard let milliseconds = ToolClock.offset("+" + text) else {
      throw ToolError("'\(text)' is no time. Write a number with w, d, h, m, s or ms: 7d, 1h30m.")
    }
    return .milliseconds(milliseconds)
  }
}
