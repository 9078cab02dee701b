/// Content that the Swift type of a field doesn't take: a case of a newer app, or what another client wrote. The app sees
/// the field's stand-in, and the content stays until the app writes the field. A record with such content in a required
/// field without a default is left out of results.
extension TypeTable {
  /// Throws `BothyError` `.invalidValue`, which names the field, for content without a stand-in.
  package func checkReadable(_ values: [FieldValue]) throws(BothyError) {
    for position in strictPositions {
      _ = try schema.fields[position].shown(values[position], of: schema.name)
    }
  }

  /// Returns the current row of a statement as a value with stand-ins, after reading it as it is threw `error`. A value
  /// without a stand-in makes it throw, or return nil if `leavesOut`.
  package func entity<E: Entity>(
    _ type: E.Type, _ id: String, of statement: PreparedStatement, _ mark: ReadMark, after error: BothyError,
    leavesOut: Bool
  ) throws -> E? {
    guard error.code == .invalidValue else { throw error }
    let values: [FieldValue]
    do { values = try schema.shown(StoredRow(from: statement, self).values) } catch let error as BothyError
      where error.code == .invalidValue
    {
      if leavesOut { return nil }
      throw BothyError(
        .invalidValue, "\(RecordID(type: schema.name, id: id)) can't be read. \(error.message)")
    }
    var decoder = FieldDecoder(values: values, type: schema.name, mark: mark)
    return try E(id: id, from: &decoder)
  }

  /// Puts stored content back where a saved value has the stand-in that the app saw in its place.
  func keepUnread(in values: inout [FieldValue], of stored: [FieldValue]) {
    for position in checkedPositions where values[position] != stored[position] && !stored[position].isNull {
      let field = schema.fields[position]
      guard values[position] == field.standIn, field.refusal(of: stored[position]) != nil else { continue }
      values[position] = stored[position]
    }
  }

  /// Returns a value as the app saw it when it read the record.
  package func seen(_ value: FieldValue, at position: Int) -> FieldValue {
    let field = schema.fields[position]
    return value.isNull || field.refusal(of: value) == nil ? value : field.standIn
  }
}

extension TypeSchema {
  /// Returns values as the app sees them. Throws `BothyError` `.invalidValue` for content without a stand-in.
  func shown(_ values: [FieldValue]) throws(BothyError) -> [FieldValue] {
    var shown = values
    for (position, field) in fields.enumerated() {
      shown[position] = try field.shown(values[position], of: name)
    }
    return shown
  }
}

extension FieldSchema {
  /// Returns a value as the app sees it. Throws `BothyError` `.invalidValue` for content without a stand-in.
  func shown(_ value: FieldValue, of type: String) throws(BothyError) -> FieldValue {
    guard let refusal = refusal(of: value) else { return value }
    guard self.refusal(of: standIn) == nil else {
      throw BothyError(
        .invalidValue,
        "\(type).\(name) has content that this version of the app doesn't know: \(refusal.message) A default, or an "
          + "optional field, shows such records too.")
    }
    return standIn
  }
}

extension ReadTransaction {
  /// Returns the stored records that this app leaves out of results, each with the reason. Reads the types that can have
  /// some whole.
  package final func unreadRecords() throws -> [(record: AnyRecord, reason: BothyError)] {
    var found: [(record: AnyRecord, reason: BothyError)] = []
    for table in catalog.tables where !table.strictPositions.isEmpty {
      try forEach(AnyQuery(table.schema.name)) { record in
        do { try table.checkReadable(record.values(for: table.schema)) } catch let reason as BothyError {
          found.append((record, reason))
        }
      }
    }
    return found
  }
}
