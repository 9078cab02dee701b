import Foundation

/// The metrics of a server process, parsed from the text of its `/metrics`.
package struct MetricsText: Sendable {
  /// One line: a metric with its labels, and its value.
  package struct Sample: Sendable, Hashable {
    package var name: String
    package var labels: [String: String]
    package var value: Double

    /// The name and the labels, as the key of a series.
    package var series: String {
      name + labels.sorted { $0.key < $1.key }.map { "\u{1f}\($0.key)=\($0.value)" }.joined()
    }
  }

  private var samples: [String: [Sample]] = [:]

  /// Parses a text of the Prometheus format. Lines that aren't samples are skipped.
  package init(parsing text: String) {
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      guard let sample = Self.sample(line) else { continue }
      samples[sample.name, default: []].append(sample)
    }
  }

  /// Returns all samples of a metric, in the order of the text.
  package func all(_ name: String) -> [Sample] { samples[name] ?? [] }

  /// Returns the sum of the samples that have these labels, or `nil` without one.
  package func sum(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    let found = all(name).filter { sample in labels.allSatisfy { sample.labels[$0.key] == $0.value } }
    return found.isEmpty ? nil : found.reduce(0) { $0 + $1.value }
  }

  private static func sample(_ line: Substring) -> Sample? {
    let name = line.prefix { $0 != "{" && $0 != " " }
    var rest = line[name.endIndex...]
    var labels: [String: String] = [:]
    if rest.first == "{" {
      rest = rest.dropFirst()
      guard let found = Self.labels(&rest) else { return nil }
      labels = found
    }
    let parts = rest.split(separator: " ")
    guard !name.isEmpty, let text = parts.first, let value = Double(text) else { return nil }
    return Sample(name: String(name), labels: labels, value: value)
  }

  /// Reads `name="value",…}` and drops it from `rest`. Returns `nil` for other texts.
  private static func labels(_ rest: inout Substring) -> [String: String]? {
    var labels: [String: String] = [:]
    while let first = rest.first {
      if first == "}" {
        rest = rest.dropFirst()
        return labels
      }
      if first == "," {
        rest = rest.dropFirst()
        continue
      }
      let name = rest.prefix { $0 != "=" }
      rest = rest[name.endIndex...].dropFirst()
      guard rest.first == "\"", let value = quoted(&rest) else { return nil }
      labels[String(name)] = value
    }
    return nil
  }

  private static func quoted(_ rest: inout Substring) -> String? {
    rest = rest.dropFirst()
    var value = ""
    while let character = rest.popFirst() {
      switch character {
      case "\"": return value
      case "\\":
        guard let next = rest.popFirst() else { return nil }
        value.append(next == "n" ? "\n" : next)
      default: value.append(character)
      }
    }
    return nil
  }
}
