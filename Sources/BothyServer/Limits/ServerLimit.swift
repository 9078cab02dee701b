import BothySyncService

/// One limit of a server: its name, what it limits, its unit, default and range.
///
/// `all` is the one table of them. The options of `bothy serve`, its `--limits` and a table of docs/production.md come
/// from it.
package struct ServerLimit: Sendable {
  /// The subject of a limit, as a heading.
  package enum Subject: String, CaseIterable, Sendable {
    case connections = "Connections and streams"
    case requests = "Requests"
    case answers = "Answers and queries"
    case records = "Records and blobs"
    case storage = "The database"
    case decisions = "Decisions of a back end"
    case spaces = "Spaces by a back end"
    case backEnds = "Feeds and webhooks"
    case keeping = "Retention and upkeep"
  }

  /// The name. If an option sets the limit, it is the option's name without the hyphens in front.
  package let name: String
  /// The meaning, as a sentence.
  package let about: String
  package let subject: Subject
  package let unit: LimitUnit
  /// The values that an option may set, or `nil` for a limit that no option sets.
  package let range: ClosedRange<Double>?
  /// The default in words, if it depends on the machine.
  private var defaultWords: String?
  private let read: @Sendable (ServerBounds) -> Double?
  private let write: (@Sendable (inout ServerBounds, Double) -> Void)?

  /// Returns the value, or `nil` if nothing is limited.
  package func value(in bounds: ServerBounds) -> Double? { read(bounds) }

  /// Returns the value as text.
  package func text(in bounds: ServerBounds) -> String { value(in: bounds).map(unit.text) ?? "none" }

  /// The default as text. It is equal on all machines.
  package var defaultText: String { defaultWords ?? text(in: ServerBounds()) }

  /// The range as text, or empty for a limit that no option sets.
  package var rangeText: String {
    range.map { "\(unit.text($0.lowerBound)) to \(unit.text($0.upperBound))" } ?? ""
  }

  /// Sets the limit to the value of an option. Throws `Misuse` for a text without a value in the range.
  package func set(_ text: String, in bounds: inout ServerBounds) throws(Misuse) {
    guard let range, let value = unit.value(of: text), range.contains(value) else {
      throw Misuse(limit: self)
    }
    write?(&bounds, value)
  }

  /// The error for the value of an option, with the values that are possible.
  package struct Misuse: Error, CustomStringConvertible {
    let limit: ServerLimit

    package var description: String {
      let range = limit.range.map {
        "from \(limit.unit.text($0.lowerBound)) to \(limit.unit.text($0.upperBound))"
      }
      let example = limit.value(in: ServerBounds()).map { ", such as \(limit.unit.text($0))" }
      let ending = example ?? "; leave the option out for no limit"
      return "--\(limit.name) is \(limit.unit.phrase)\(range ?? "")\(ending)."
    }
  }
}

// MARK: limits with an option

extension ServerLimit {
  /// The place of a limit's value.
  typealias Path<Value> = any WritableKeyPath<ServerBounds, Value> & Sendable

  static func count(
    _ name: String, _ subject: Subject, _ range: ClosedRange<Int>,
    _ path: Path<Int>, default words: String? = nil, _ about: String
  ) -> ServerLimit {
    whole(name, subject, in: .count, range, path, default: words, about)
  }

  static func bytes(
    _ name: String, _ subject: Subject, _ range: ClosedRange<Int>,
    _ path: Path<Int>, _ about: String
  ) -> ServerLimit {
    whole(name, subject, in: .bytes, range, path, about)
  }

  /// A limit that is kept as a whole number of its unit.
  private static func whole<Value: FixedWidthInteger & Sendable>(
    _ name: String, _ subject: Subject, in unit: LimitUnit, _ range: ClosedRange<Value>,
    _ path: Path<Value>, default words: String? = nil, _ about: String
  ) -> ServerLimit {
    ServerLimit(
      name: name, about: about, subject: subject, unit: unit,
      range: Double(range.lowerBound)...Double(range.upperBound), defaultWords: words,
      read: { Double($0[keyPath: path]) }, write: { $0[keyPath: path] = Value($1) })
  }

  /// - Parameter path: the limit in bytes.
  static func megabytes(
    _ name: String, _ subject: Subject, _ range: ClosedRange<Int>,
    _ path: Path<Int>, _ about: String
  ) -> ServerLimit {
    ServerLimit(
      name: name, about: about, subject: subject, unit: .megabytes,
      range: Double(range.lowerBound)...Double(range.upperBound),
      read: { Double($0[keyPath: path] >> 20) }, write: { $0[keyPath: path] = Int($1) << 20 })
  }

  /// - Parameter range: in milliseconds.
  static func time(
    _ name: String, _ subject: Subject, _ range: ClosedRange<Int>,
    _ path: Path<Duration>, _ about: String
  ) -> ServerLimit {
    ServerLimit(
      name: name, about: about, subject: subject, unit: .time,
      range: Double(range.lowerBound)...Double(range.upperBound),
      read: { $0[keyPath: path] / .milliseconds(1) },
      write: { $0[keyPath: path] = .milliseconds(Int64($1)) })
  }

  /// - Parameters:
  ///   - range: in milliseconds.
  ///   - path: the limit in milliseconds.
  static func milliseconds(
    _ name: String, _ subject: Subject, _ range: ClosedRange<Int64>,
    _ path: Path<Int64>, _ about: String
  ) -> ServerLimit {
    whole(name, subject, in: .time, range, path, about)
  }

  static func rate(
    _ name: String, _ subject: Subject, _ path: Path<Double?>,
    _ about: String
  ) -> ServerLimit {
    ServerLimit(
      name: name, about: about, subject: subject, unit: .rate, range: 0.0001...1_000_000,
      read: { $0[keyPath: path] }, write: { $0[keyPath: path] = $1 })
  }

  static func blobs(
    _ name: String, _ range: ClosedRange<Int>, _ about: String,
    read: @escaping @Sendable (BlobLimits) -> Int64?,
    write: @escaping @Sendable (inout BlobLimits, Int64) -> Void
  ) -> ServerLimit {
    ServerLimit(
      name: name, about: about, subject: .records, unit: .bytes,
      range: Double(range.lowerBound)...Double(range.upperBound),
      read: { read($0.blobs).map { Double($0) } }, write: { write(&$0.blobs, Int64($1)) })
  }
}

// MARK: limits without an option

extension ServerLimit {
  static func fixed(_ name: String, _ subject: Subject, time: Duration, _ about: String) -> ServerLimit {
    fixed(name, subject, Int(time / .milliseconds(1)), in: .time, about)
  }

  static func fixed(
    _ name: String, _ subject: Subject, _ value: Int, in unit: LimitUnit = .count, _ about: String
  ) -> ServerLimit {
    ServerLimit(
      name: name, about: about, subject: subject, unit: unit, range: nil, read: { _ in Double(value) },
      write: nil)
  }
}
