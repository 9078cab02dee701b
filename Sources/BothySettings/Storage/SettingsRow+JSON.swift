import BothyStore

/// A group as tools show it.
extension SettingsRow {
  /// Writes `group, version, values`.
  package func write(to writer: inout JSONWriter) {
    writer.member("group", name)
    writer.member("version", version)
    writer.object("values") { writer in
      for field in fields.sorted(by: { $0.name < $1.name }) {
        writer.key(field.name)
        field.written(values[field.name] ?? .null).write(to: &writer)
      }
    }
  }
}
