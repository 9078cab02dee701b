/// The columns of a type's own table on this device (see `TypeTable`).
package struct TableColumns: ColumnExpressions {
  private let type: TypeSchema

  package init(_ type: TypeSchema) { self.type = type }

  package var id: String { "_id" }

  package var container: String {
    let own = "'\(type.name)'"
    return type.isSynced ? "coalesce(_container, \(own))" : own
  }

  package var version: String { type.isSynced ? "_version" : "NULL" }
  package var created: String { type.isSynced ? "_created" : "NULL" }
  package var modified: String { type.isSynced ? "_modified" : "NULL" }
  package var owner: String { type.isSynced ? "_owner" : "NULL" }

  package func isContainer(_ name: String) -> SQLFragment {
    if name == type.name { return SQLFragment(type.isSynced ? "_container IS NULL" : "TRUE") }
    return type.isSynced ? SQLFragment("_container = ?", [.text(name)]) : SQLFragment("FALSE")
  }

  /// Compares the column itself rather than the type's name, so that its index serves.
  package func isBelow(_ path: String) -> SQLFragment {
    type.isSynced ? isBelow(path, "_container") : SQLFragment("FALSE")
  }

  package func value(of field: FieldSchema) -> String { field.name.quotedIdentifier }

  /// Returns the stored key, or computes it for a field without stored ones.
  package func natural(of field: FieldSchema) -> String {
    field.isNatural
      ? SortKey.naturalColumn(field.name).quotedIdentifier : "bothy_natural(\(value(of: field)))"
  }

  package func latitude(of field: FieldSchema) -> String { field.columns[0].quotedIdentifier }

  package func longitude(of field: FieldSchema) -> String { field.columns[1].quotedIdentifier }

  package func candidates(in box: GeoBox, of field: FieldSchema) -> SQLFragment? {
    PlaceIndex(field, of: type)?.rows(in: box)
  }

  package func argument(_ value: FieldValue) -> FieldValue { value }

  /// Looks lists of references up in their index. Reads other lists from their JSON.
  package func includes(_ element: FieldValue, in field: FieldSchema, of type: TypeSchema) -> SQLFragment {
    if case .references(let target, _) = field.kind {
      return SQLFragment(
        "_id IN (SELECT owner FROM bothy_link WHERE target_type = ? AND target = ? AND owner_type = ? "
          + "AND field = ?)",
        [.text(target), element, .text(type.name), .text(field.name)])
    }
    let list = value(of: field)
    guard element.text != nil else {
      return SQLFragment("bothy_element(\(list), ?)", [.text(element.json.canonicalText)])
    }
    // `json_each` has columns such as `path` and `value`, which hide a field of the same name.
    let source = "\(type.name.quotedIdentifier).\(list)"
    let isFound =
      "json_type(\(list)) = 'array' AND EXISTS (SELECT 1 FROM json_each(\(source)) AS bothy_element "
      + "WHERE bothy_element.type = 'text' AND bothy_element.value = ?)"
    return SQLFragment(
      "bothy_includes('{\"list\":' || \(list) || '}', 'list', ?, \(isFound))",
      [element, element])
  }

  package func matches(
    _ search: TextSearch, in fields: [FieldSchema], _ type: TypeSchema
  ) -> SQLFragment {
    let index = SchemaInstaller.fullTextTable(type.name)
    let columns = fields.count < type.searched([]).count ? fields.map(\.name) : nil
    return SQLFragment(
      "rowid IN (SELECT rowid FROM \(index) WHERE \(index) MATCH ?)",
      [.text(search.fullTextQuery(in: columns) ?? "")])
  }
}
