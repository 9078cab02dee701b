import GRDB

/// Runs the declared steps and the automatic changes that convert a file to the app's schema, inside the caller's
/// transaction.
struct Migrator {
  let database: Database
  let recorder: (any ChangeRecorder)?
  /// The store for the values of fields that become sensitive.
  let secrets: any SecretStore
  /// Puts the secrets that the migration replaces back if it fails.
  let replacement: SecretReplacement

  /// Converts the file and returns its schema. The flag is true if values may have become sensitive, because the
  /// write-ahead log still has them. Throws `BothyError` `.newerFile`, `.schemaMismatch` or `.migrationFailed`; the caller
  /// rolls back.
  func migrate(to declared: StoreSchema, steps: [Migration], path: String) throws -> (
    StoreSchema, hasConcealed: Bool
  ) {
    let installer = SchemaInstaller(database: database)
    guard var current = try SchemaInstaller.stored(in: database) else {
      try installer.installFormat()
      for type in declared.types { try installer.create(type) }
      try installer.save(declared)
      return (declared, false)
    }
    try installer.upgradeFormat(with: current)
    var target = declared.inheriting(from: current)
    if current == target { return (target, false) }
    guard current.version <= target.version else {
      throw BothyError(
        .newerFile,
        "\(path) was written by a newer version of the app (schema \(current.version), this app knows "
          + "\(target.version)). Update the app; the file was left as it is.")
    }
    let pending = steps.filter { $0.version > current.version && $0.version <= target.version }
      .sorted { $0.version < $1.version }
    let conceals = Self.conceals(pending, target)
    // SQLite zeroes the pages that it frees, so that the file keeps no copy of a value.
    if conceals { try database.execute(sql: "PRAGMA secure_delete = ON") }
    var version = target.version
    do {
      try replacement.rename(by: pending.map(\.step), to: target, in: database)
      for (index, migration) in pending.enumerated() {
        version = migration.version
        let later = pending[(index + 1)...].map(\.step)
        try run(migration.step, before: later, on: &current, target: target, installer)
      }
    } catch {
      throw BothyError(
        .migrationFailed,
        "A migration of \(path) to schema \(version) failed; the file was left as it is. \(error)",
        underlying: error)
    }
    target = declared.inheriting(from: current)
    // Renamed first: a new field notes by its own name which rows have no value of the server's.
    for type in target.types {
      if let before = current[type.name], before.isSynced { try rename(from: before, to: type) }
    }
    try apply(SchemaChange(from: current, to: target), installer, path: path)
    for type in target.types where type.isSynced && current[type.name] != nil {
      try KeptAside(database: database).adopt(type)
    }
    try target.validate()
    try installer.save(target)
    return (target, conceals)
  }

  /// True if values may become sensitive: by a step, or because a sensitive field has the name of one that wasn't.
  private static func conceals(_ steps: [Migration], _ target: StoreSchema) -> Bool {
    steps.contains { if case .makeSensitive = $0.step { true } else { false } }
      || target.types.contains { $0.fields.contains(where: \.isSensitive) }
  }

  /// Renames the data of records outside their columns, if wire names denote other fields than before.
  private func rename(from old: TypeSchema, to new: TypeSchema) throws {
    let (before, after) = (NameMap(old), NameMap(new))
    guard new.isSynced, !after.hasNames(of: before) else { return }
    try KeptAside(database: database).rename(new.name, from: before, to: after)
    try recorder?.rename(new.name, from: before, to: after, in: database)
  }

  private func apply(_ change: SchemaChange, _ installer: SchemaInstaller, path: String) throws {
    guard change.problems.isEmpty else {
      throw BothyError(
        .schemaMismatch,
        "\(path) does not fit the declared schema. " + change.problems.joined(separator: " "))
    }
    // First, because a new type may need an index of the name of one that is dropped.
    for type in change.reindexed { try installer.dropIndexes(of: type) }
    for (type, field) in change.newFields { try installer.add(field, to: type) }
    for (type, field) in change.newlyRequired {
      try installer.markMissing(field, of: type)
      try installer.fill(field, of: type, onlyNull: true)
    }
    for type in change.newTypes { try installer.create(type) }
    for type in change.reindexed {
      do { try installer.createIndexes(of: type) } catch let error as DatabaseError
        where error.resultCode == .SQLITE_CONSTRAINT
      {
        throw BothyError(
          .migrationFailed,
          "\(path) has several records with one value where values are to be unique now: \(error.message ?? type.name). "
            + "Make them differ in one version of the app, and declare the field unique in the next; the file was left "
            + "as it is.",
          underlying: error)
      }
    }
    let links = LinkIndex(database: database)
    for (type, field) in change.relinked {
      try links.remove(type: type.name, field: field.name)
      try links.rebuild(type: type.name, field: field)
    }
  }

  /// A type or field that came after the file's version isn't there yet. It is added as the app declares it, so the steps
  /// have nothing to change. A wrong name is found when the schemas are compared.
  private func run(
    _ step: Migration.Step, before later: [Migration.Step], on schema: inout StoreSchema, target: StoreSchema,
    _ installer: SchemaInstaller
  ) throws {
    let isLocal = if case .renameType(let from, _) = step { schema[from]?.isSynced == false } else { false }
    let former = schema
    let applies = step.applies(to: schema)
    if applies { try change(step, before: later, on: &schema, target: target, installer) }
    // The name of a type of this device is that of no container, and sync keeps nothing about it.
    if !isLocal { try recorder?.migrate(step, in: database) }
    for (before, after) in Self.containers(renamedBy: step, from: former, to: schema) where !isLocal {
      if applies { try rename(container: before, to: after, of: schema) }
      try recorder?.rename(container: before, to: after, in: database)
    }
    // The server has the records of a dropped type under its first name, which may be declared again.
    if case .dropType(let name) = step, let wire = former[name]?.wireName, former[wire] == nil {
      try recorder?.migrate(.dropType(wire), in: database)
    }
  }

  private func change(
    _ step: Migration.Step, before later: [Migration.Step], on schema: inout StoreSchema, target: StoreSchema,
    _ installer: SchemaInstaller
  ) throws {
    switch step {
    case .renameType(let from, let to): try renameType(from, to, on: &schema, installer)
    case .renameField(let type, let from, let to): try renameField(type, from, to, on: &schema, installer)
    case .dropType(let name):
      let position = try Self.position(of: name, in: schema)
      try installer.drop(schema.types[position])
      schema.types.remove(at: position)
    case .dropField(let type, let name):
      let position = try Self.position(of: type, in: schema)
      let field = try Self.field(name, of: schema.types[position])
      try installer.dropIndexes(of: schema.types[position])
      let before = schema.types[position]
      try KeptAside(database: database).keep(before.fields[field], of: before)
      try installer.drop(before.fields[field], of: before)
      schema.types[position].fields.remove(at: field)
      schema.types[position].dropIndexes(naming: name)
      try rename(from: before, to: schema.types[position])
      try installer.createIndexes(of: schema.types[position])
    case .convertField(let type, let name, let kind, let convert):
      // A field that a later step drops keeps its kind until then.
      guard let wanted = Self.wanted(name, of: type, before: later, target) else { break }
      try convertField(type, name, kind.fieldKind.value, to: wanted, convert, on: &schema, installer)
    case .makeSensitive(let type, let name):
      try makeSensitive(type, name, before: later, on: &schema, target: target, installer)
    }
  }

  /// Returns a field as a step leaves it, with its present name: as the next conversion takes it, or as the new schema
  /// declares it. Later steps may rename it. Nil if one drops it, and if the new schema lacks it.
  private static func wanted(
    _ field: String, of type: String, before later: [Migration.Step], _ target: StoreSchema
  ) -> FieldSchema? {
    var (type, name) = (type, field)
    for step in later {
      switch step {
      case .convertField(type, name, let next, _):
        return FieldSchema(field, next.fieldKind.value, optional: true)
      case .renameType(type, let to): type = to
      case .renameField(type, name, let to): name = to
      case .dropType(type), .dropField(type, name): return nil
      default: break
      }
    }
    var wanted = target[type]?[name]
    wanted?.name = field
    return wanted
  }

  private func renameType(
    _ from: String, _ to: String, on schema: inout StoreSchema, _ installer: SchemaInstaller
  ) throws {
    let position = try Self.position(of: from, in: schema)
    try installer.dropIndexes(of: schema.types[position])
    var present = from
    // SQLite takes a name that differs by its case alone for taken.
    for name in (from.lowercased() == to.lowercased() ? ["bothy_renamed"] : []) + [to] {
      try database.execute(sql: "ALTER TABLE \(present.quotedIdentifier) RENAME TO \(name.quotedIdentifier)")
      present = name
    }
    try database.execute(
      sql: "UPDATE bothy_link SET owner_type = ?2 WHERE owner_type = ?1", arguments: [from, to])
    try database.execute(
      sql: "UPDATE bothy_link SET target_type = ?2 WHERE target_type = ?1", arguments: [from, to])
    if schema.types[position].isSynced { schema.types[position].wire = schema.types[position].wireName }
    schema.types[position].name = to
    for (index, type) in schema.types.enumerated() {
      for (place, field) in type.fields.enumerated() where field.kind.target?.type == from {
        schema.types[index].fields[place].kind = field.kind.referring { _ in to }
      }
    }
    try installer.createIndexes(of: schema.types[position])
  }

  /// Returns the containers that a step gives other names, in the order of their renaming. The container of a type has its
  /// name. Another container of this name is called with a colon as long as the type has it.
  private static func containers(
    renamedBy step: Migration.Step, from former: StoreSchema, to schema: StoreSchema
  ) -> [(before: String, after: String)] {
    switch step {
    case .renameType(let from, let to): return [(to, ":" + to), (from, to), (":" + from, from)]
    case .dropType(let name):
      guard let dropped = former[name], dropped.isSynced else { return [] }
      return [(name, WireNames(schema).local(container: dropped.wireName)), (":" + name, name)]
    default: return []
    }
  }

  private func rename(container: String, to name: String, of schema: StoreSchema) throws {
    // The rows of a type in its own container name none.
    for type in schema.types where type.isSynced && type.name != name {
      try database.execute(
        sql: "UPDATE \(type.name.quotedIdentifier) SET _container = ?2 WHERE _container = ?1",
        arguments: [container, name])
    }
  }

  /// Copies the values into the secret store, then overwrites them in the file. If the transaction rolls back, the next
  /// opening removes the secrets, like all that no pending change needs.
  private func makeSensitive(
    _ type: String, _ name: String, before later: [Migration.Step], on schema: inout StoreSchema,
    target: StoreSchema, _ installer: SchemaInstaller
  ) throws {
    let position = try Self.position(of: type, in: schema)
    let index = try Self.field(name, of: schema.types[position])
    let old = schema.types[position].fields[index]
    // Nor may the values of a field stay that a later step drops.
    var wanted =
      Self.wanted(name, of: type, before: later, target)
      ?? FieldSchema(name, .text, optional: true, sensitive: true)
    guard wanted.isSensitive, old.kind == .text else {
      throw BothyError(
        .migrationFailed,
        "\(type).\(name) can't become sensitive: it must be a string, and sensitive in the new schema.")
    }
    try installer.dropIndexes(of: schema.types[position])
    let (table, column) = (type.quotedIdentifier, name.quotedIdentifier)
    let select = try PreparedStatement(
      "SELECT _id, \(column) FROM \(table) WHERE \(column) IS NOT NULL", in: database)
    while try select.step() {
      guard let id = select.text(at: 0), let value = select.text(at: 1) else { continue }
      let key = SecretKey(RecordID(type: type, id: id), field: name)
      try secrets.set(value, for: key.renamed(by: later) ?? key)
    }
    select.reset()
    try database.execute(sql: "UPDATE \(table) SET \(column) = NULL WHERE \(column) IS NOT NULL")
    (wanted.wire, wanted.aliases) = (old.wire, old.aliases)
    schema.types[position].fields[index] = wanted
    schema.types[position].dropIndexes(naming: name)
    try installer.createIndexes(of: schema.types[position])
  }

  private func renameField(
    _ type: String, _ from: String, _ to: String, on schema: inout StoreSchema, _ installer: SchemaInstaller
  ) throws {
    let position = try Self.position(of: type, in: schema)
    let field = try Self.field(from, of: schema.types[position])
    try installer.dropIndexes(of: schema.types[position])
    let former = schema.types[position]
    let old = former.fields[field].columns
    if former.isSynced { schema.types[position].fields[field].wire = former.fields[field].wireName }
    schema.types[position].fields[field].name = to
    schema.types[position].dropIndexes(naming: from)
    for (before, after) in zip(old, schema.types[position].fields[field].columns) {
      try database.execute(
        sql: """
          ALTER TABLE \(type.quotedIdentifier) RENAME COLUMN \(before.quotedIdentifier) TO \(after.quotedIdentifier)
          """)
    }
    try database.execute(
      sql: "UPDATE bothy_link SET field = ?3 WHERE owner_type = ?1 AND field = ?2",
      arguments: [type, from, to])
    try rename(from: former, to: schema.types[position])
    try installer.createIndexes(of: schema.types[position])
  }

  /// Adds the field in its new kind beside the old one, fills it row by row, then drops the old one.
  private func convertField(
    _ type: String, _ name: String, _ kind: ValueKind, to wanted: FieldSchema,
    _ convert: @Sendable (FieldValue) throws -> FieldValue, on schema: inout StoreSchema,
    _ installer: SchemaInstaller
  ) throws {
    let position = try Self.position(of: type, in: schema)
    let index = try Self.field(name, of: schema.types[position])
    let old = schema.types[position].fields[index]
    // The comparison with the new schema judges the rest of the declaration.
    var wanted = wanted
    (wanted.wire, wanted.aliases, wanted.isSensitive) = (old.wire, old.aliases, old.isSensitive)
    guard old.kind.name == kind.name else {
      throw BothyError(
        .migrationFailed,
        "\(type).\(name) is \(old.kind.phrase) in the file, and the step converts \(kind.phrase).")
    }
    try installer.dropIndexes(of: schema.types[position])
    var temporary = wanted
    temporary.name = "_new_" + name
    temporary.defaultValue = nil
    try installer.add(temporary, to: schema.types[position])
    let table = type.quotedIdentifier
    try convertRows(old, to: wanted, as: temporary, of: schema.types[position], convert)
    try installer.drop(old, of: schema.types[position])
    for (before, after) in zip(temporary.columns, wanted.columns) {
      try database.execute(
        sql: "ALTER TABLE \(table) RENAME COLUMN \(before.quotedIdentifier) TO \(after.quotedIdentifier)")
    }
    schema.types[position].fields[index] = wanted
    schema.types[position].dropIndexes(naming: name)
    try recorder?.convert(name, of: type, in: database) { json in
      // A value that was unreadable before can't be converted.
      guard let value = try? FieldValue(json: json, kind: old.kind) else { return .null }
      return try convert(value).json
    }
    try LinkIndex(database: database).rebuild(type: type, field: wanted)
    try installer.createIndexes(of: schema.types[position])
  }

  /// Fills the columns of a converted field from those of the old one. The values that the server has are kept aside, so
  /// that the row still tells what the server reported. A pending change sends the converted value.
  private func convertRows(
    _ old: FieldSchema, to wanted: FieldSchema, as temporary: FieldSchema, of type: TypeSchema,
    _ convert: @Sendable (FieldValue) throws -> FieldValue
  ) throws {
    let table = type.name.quotedIdentifier
    let version = type.isSynced ? "_version" : "NULL"
    let read = try PreparedStatement(
      "SELECT rowid, _id, \(version), \(old.columns.map(\.quotedIdentifier).joined(separator: ", ")) FROM \(table)",
      in: database)
    let assignments = temporary.columns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: ", ")
    let write = try PreparedStatement("UPDATE \(table) SET \(assignments) WHERE rowid = ?", in: database)
    let pending = try recorder?.pending(of: type.name, in: database) ?? []
    var originals: [Int64: JSONValue] = [:]
    while try read.step() {
      let row = read.int(at: 0)
      var decoder = FieldDecoder(row: read.pointer, from: 3, type: type.name)
      let before = try decoder.value(old.kind)
      let value = try convert(before)
      guard value.fits(wanted) else {
        throw BothyError(
          .migrationFailed,
          "\(type.name).\(wanted.name) was converted to a value that is not \(wanted.kind.phrase).")
      }
      if value != before, read.text(at: 2) != nil, !pending.contains(read.text(at: 1) ?? "") {
        originals[row] = before.json
      }
      var encoder = FieldEncoder(binding: write.pointer, from: 1)
      encoder.encode(value, kind: wanted.kind)
      write.bind(row, at: encoder.nextParameter)
      try write.run()
    }
    read.reset()
    try KeptAside(database: database).keep(originals, wanted.name, of: type)
  }

  private static func position(of type: String, in schema: StoreSchema) throws -> Int {
    guard let position = schema.types.firstIndex(where: { $0.name == type }) else {
      throw BothyError(.unknownType, "The stored schema has no type \(type).")
    }
    return position
  }

  private static func field(_ name: String, of type: TypeSchema) throws -> Int {
    guard let index = type.index(of: name) else {
      throw BothyError(.unknownField, "The stored type \(type.name) has no field \(name).")
    }
    return index
  }
}

extension Migration.Step {
  /// True if a schema has what the step changes.
  fileprivate func applies(to schema: StoreSchema) -> Bool {
    switch self {
    case .renameType(let type, _), .dropType(let type): schema[type] != nil
    case .renameField(let type, let field, _), .dropField(let type, let field),
      .makeSensitive(let type, let field), .convertField(let type, let field, _, _):
      schema[type]?[field] != nil
    }
  }
}
