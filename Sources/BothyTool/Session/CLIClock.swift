import ArgumentParser
import BothyServer
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
    return LimitUnit.milliseconds(text.dropFirst()).map { sign * $0 }
  }
}
