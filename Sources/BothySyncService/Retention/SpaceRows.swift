/// The rows of a space in one table of a storage, if they may be many. All storages have these tables and keys.
package struct SpaceRows: Sendable {
  package let table: String
  /// The columns of the primary key after the space.
  let key: String

  /// The most rows that one step of a removal deletes. A step has seconds at most, also with the largest records.
  package static let step = 2000

  /// The tables in the order of a removal: what was made of records, and then the records.
  package static let all = [
    SpaceRows(table: "field_value", key: "field, key, id"),
    SpaceRows(table: "unique_value", key: "type, field, value, id"),
    SpaceRows(table: "audience", key: "name, type, position"),
    SpaceRows(table: "notice", key: "principal, position"),
    SpaceRows(table: "shared", key: "list, type, id"),
    SpaceRows(table: "member", key: "principal, list"),
    SpaceRows(table: "departure", key: "position, type, id, container"),
    SpaceRows(table: "history", key: "position"),
    SpaceRows(table: "operation", key: "device, id"),
    SpaceRows(table: "device", key: "device, scope"),
    SpaceRows(table: "record", key: "position"),
  ]

  /// Returns the statement that deletes the first `count` rows if the space has more, and otherwise none.
  ///
  /// - Parameter space: the parameter for the name of the space.
  package func removal(of count: Int, from space: String) -> String {
    """
    DELETE FROM \(table) WHERE space = \(space) AND (\(key)) < (
      SELECT \(key) FROM \(table) WHERE space = \(space) ORDER BY \(key) LIMIT 1 OFFSET \(count))
    """
  }
}
