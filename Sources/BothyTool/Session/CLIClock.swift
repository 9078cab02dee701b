import ArgumentParser
import BothyStore
import Foundation

/// The clock of the tool: the system's clock, moved by `BOTHY_NOW` for tests.
struct CLIClock: Sendable {
  /// The milliseconds that are added to the system's clock.
  let shift: Int64

  /// Reads `BOTHY_NOW`. Throws a usage error if it isn't a time.
  init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    guard let text = environment["BOTHY_NOW"], !text.isEmpty else {
      shift = 0
      return
    }
    if let offset = Self.offset(text) {
      shift = offset
    } else if let time = Timestamp(rfc3339: text) {
      shift = time.milliseconds - Self.system()
    } else {
      throw ValidationError(
        "BOTHY_NOW is '\(text)'. Write a time like 2026-12-01T08:00:00Z or an offset like +7d1s.")
    }
  }

  /// Returns the milliseconds since 1970.
  func now() -> Int64 { Self.system() &+ shift }

  private static func system() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// Parses `+7d1s` or `-2h`: a sign, then numbers with w, d, h, m, s or ms. Returns `nil` for other texts.
  static func offset(_ text: String) -> Int64? {
    guard let sign: Int64 = text.first == "+" ? 1 : text.first == "-" ? -1 : nil else { return nil }
    var rest = text.dropFirst()
    var total: Int64 = 0
    repeat {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest.dropFirst(digits.count)
      let unit = rest.prefix { $0.isLetter }
      rest = rest.dropFirst(unit.count)
      guard let number = Int64(digits), let scale = units[String(unit)] else { return nil }
      let (product, overflows) = number.multipliedReportingOverflow(by: scale)
      guard !overflows, product < 1 << 60, total < 1 << 60 else { return nil }
      total += product
    } while !rest.isEmpty
    return sign * total
  }

  private static let units: [String: Int64] = [
    "w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1,
  ]
}
