package import BothyCore

/// The table as text, JSON and Markdown.
extension ServerLimit {
  /// Returns the limits by subject, each on a line with its value in `bounds`.
  package static func text(_ bounds: ServerBounds) -> String {
    var parts: [String] = []
    for subject in Subject.allCases {
      var lines = [subject.rawValue]
      for limit in all where limit.subject == subject {
        let name = limit.range == nil ? limit.name : "--\(limit.name)"
        let range = limit.range == nil ? "fixed" : limit.rangeText
        lines.append("  \(name) \(limit.text(in: bounds)) (\(range)): \(limit.about)")
      }
      parts.append(lines.joined(separator: "\n"))
    }
    return parts.joined(separator: "\n\n")
  }

  /// Writes the limits as an array of objects. Times are in milliseconds, and a missing number means no limit.
  package static func write(_ bounds: ServerBounds, to writer: inout JSONWriter) {
    let defaults = ServerBounds()
    writer.beginArray()
    for limit in all {
      writer.beginObject()
      for (name, text) in [
        ("name", limit.name), ("about", limit.about), ("subject", limit.subject.rawValue),
        ("unit", limit.unit.rawValue), ("option", limit.range == nil ? nil : "--\(limit.name)"),
      ] {
        if let text { writer.member(name, text) }
      }
      for (name, number) in [
        ("value", limit.value(in: bounds)), ("default", limit.value(in: defaults)),
        ("least", limit.range?.lowerBound), ("most", limit.range?.upperBound),
      ] {
        if let number { writer.member(name, number) }
      }
      writer.endObject()
    }
    writer.endArray()
  }

  /// The tables of docs/production.md: the limits that options set, and the fixed ones.
  package static var markdown: String {
    var lines: [String] = []
    for subject in Subject.allCases {
      lines += [
        "", "**\(subject.rawValue)**", "", "| option | default | from, to | what it limits |",
        "|---|---|---|---|",
      ]
      for limit in all where limit.subject == subject && limit.range != nil {
        lines.append("| `--\(limit.name)` | \(limit.defaultText) | \(limit.rangeText) | \(limit.about) |")
      }
    }
    lines += ["", "**Without an option**", "", "| limit | value | what it limits |", "|---|---|---|"]
    for limit in all where limit.range == nil {
      lines.append("| \(limit.name) | \(limit.defaultText) | \(limit.about) |")
    }
    return lines.dropFirst().joined(separator: "\n")
  }
}
