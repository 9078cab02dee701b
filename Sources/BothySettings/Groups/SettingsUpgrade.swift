import BothyStore

/// Brings a stored row to the version that the group declares. Pure.
struct SettingsUpgrade {
  let shape: GroupLayout

  /// Returns the row in the form of this version of the group, or nil if it has that form already.
  ///
  /// Throws `BothyError` `.newerSchema`, `.migrationFailed` or `.schemaMismatch`.
  func run(_ stored: SettingsRow) throws(BothyError) -> SettingsRow? {
    guard stored.version <= shape.version else {
      throw BothyError(
        .newerSchema,
        "The settings \(shape.name) were written by a newer version of the app (version \(stored.version), this app "
          + "knows \(shape.version)). Update the app; they were left as they are.")
    }
    var row = stored
    let due = shape.steps.filter { $0.version > stored.version && $0.version <= shape.version }
      .sorted { $0.version < $1.version }
    for step in due {
      do { try apply(step.change, to: &row) } catch {
        throw BothyError(
          .migrationFailed,
          "A step of the settings \(shape.name) to version \(step.version) failed; they were left as they are. "
            + "\(error)",
          underlying: error)
      }
    }
    try adopt(&row, isMigrated: !due.isEmpty)
    row.version = shape.version
    let isKept = shape.fields.allSatisfy { field in
      stored.fields.contains { $0.name == field.name && $0.kind == field.kind }
        && !row.isNew(field, over: stored)
    }
    return isKept && stored.version == shape.version ? nil : row
  }

  /// Applies a step. A field that the row lacks needs none: a version that was skipped had added it.
  private func apply(_ change: SettingsStep.Change, to row: inout SettingsRow) throws {
    switch change {
    case .add(let name, let make):
      row.values[name] = try make(row.values)
    case .rename(let from, let to):
      guard row.values[to] == nil else {
        throw BothyError(
          .migrationFailed, "There is a field '\(to)' already, so '\(from)' can't get its name.")
      }
      guard let value = row.values.removeValue(forKey: from) else { return }
      row.values[to] = value
      for index in row.fields.indices where row.fields[index].name == from { row.fields[index].name = to }
    case .remove(let name):
      row.values[name] = nil
      row.fields.removeAll { $0.name == name }
    case .convert(let name, let convert):
      if let value = row.values[name] { row.values[name] = try convert(value) }
    }
  }

  /// Gives the declared fields their values and kinds.
  ///
  /// Stored fields that are not declared are kept: another build of the same version, which declares more fields, wrote
  /// them.
  private func adopt(_ row: inout SettingsRow, isMigrated: Bool) throws(BothyError) {
    let declared = Set(shape.fields.map(\.name))
    let others = row.fields.filter { !declared.contains($0.name) }
    let stray = row.values.first { name, value in
      !declared.contains(name) && !others.contains { $0.name == name && value.fits($0) }
    }
    if let stray {
      throw BothyError(
        .migrationFailed,
        "A step gave the settings \(shape.name) the field '\(stray.key)', which is not declared; they were left as they "
          + "are. Declare the property, or remove the step.")
    }
    for field in shape.fields {
      let stored = row.values[field.name] ?? .null
      let value =
        stored.isNull && (!field.isOptional || row.values[field.name] == nil) ? field.initialValue : stored
      guard value.fits(field) else {
        throw BothyError(
          isMigrated ? .migrationFailed : .schemaMismatch,
          "The value stored as \(shape.name).\(field.name) is not \(field.kind.phrase), and was left as it is. Raise "
            + "the group's version and declare a `.convert` step.")
      }
      row.values[field.name] = value
    }
    row.fields = shape.fields + others
  }
}

extension SettingsRow {
  fileprivate func isNew(_ field: FieldSchema, over stored: SettingsRow) -> Bool {
    stored.values[field.name] != values[field.name]
  }
}

extension FieldSchema {
  var initialValue: FieldValue { defaultValue ?? .null }
}
