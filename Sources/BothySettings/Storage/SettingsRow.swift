package import BothyStore

/// One row of the table `bothy_settings`: a group in its stored form, independent of the program's types.
package struct SettingsRow: Sendable, Equatable {
  package var name: String
  package var version: Int
  /// Increases with every change.
  package var generation: Int64
  /// The id of the process that made the last change.
  package var writer: String
  package var fields: [FieldSchema]
  /// The values by name. A field that is null has the value `.null`.
  package var values: [String: FieldValue]
}

extension SettingsRow {
  /// The first row of a group: its defaults.
  init(_ shape: GroupLayout) {
    self.init(
      name: shape.name, version: shape.version, generation: 1, writer: WriterID.ofThisProcess,
      fields: shape.fields,
      values: Dictionary(uniqueKeysWithValues: zip(shape.fields.map(\.name), shape.defaults)))
  }

  /// The values in the order of the shape's fields.
  func values(for shape: GroupLayout) -> [FieldValue] {
    shape.fields.map { values[$0.name] ?? $0.initialValue }
  }
}

// MARK: the form in the file

extension SettingsRow {
  /// The members of `content`, by name.
  var content: String {
    var writer = JSONWriter()
    writer.beginObject()
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      writer.key(name)
      value.write(to: &writer)
    }
    writer.endObject()
    return writer.string
  }

  /// The schema document of the row's fields. It is the shape's own if the fields are equal.
  func document(_ shape: GroupLayout?) -> String {
    if let shape, shape.version == version, shape.fields == fields { return shape.document }
    return GroupLayout.document(name, version, fields)
  }

  /// Throws `BothyError` `unreadable` when the texts are not what `content` and `document` write.
  init(
    name: String, version: Int, generation: Int64, writer: String, schema: String, content: String,
    known shape: GroupLayout?
  ) throws(BothyError) {
    do {
      let fields: [FieldSchema] =
        if let shape, shape.document == schema { shape.fields } else {
          try StoreSchema(json: schema)[name]?.fields ?? []
        }
      let members = try JSONValue(parsing: content).objectValue ?? [:]
      var values: [String: FieldValue] = [:]
      for field in fields {
        guard let json = members[field.name] else { continue }
        values[field.name] = try FieldValue(json: json, kind: field.kind)
      }
      self.init(
        name: name, version: version, generation: generation, writer: writer, fields: fields, values: values)
    } catch {
      throw BothyError(
        .unreadable,
        "The stored settings \(name) can't be read: \(error) They were left as they are. Restore the file, or remove the "
          + "row from the table bothy_settings to begin again with the defaults.",
        underlying: error)
    }
  }
}
