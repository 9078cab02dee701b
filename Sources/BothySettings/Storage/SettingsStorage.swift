package import BothyStore

/// Stores one group as a row of `bothy_settings`, or as the one record of the store's type with the group's name.
///
/// For a group that is stored as a record, the row holds only the generation. The generation distinguishes commits of
/// this process from changes that a sync brought.
package struct SettingsStorage: Sendable {
  package let shape: GroupLayout
  /// The record that stores the group, or nil if the row stores it.
  package let record: RecordID?

  /// The id of the one record of a group's type.
  package static let recordID = "settings"

  /// Throws `BothyError` `invalidSchema`, also for a group that is stored as a record and has an optional setting with a
  /// default. Throws `.schemaMismatch` when the store's type of the group's name lacks a field.
  package init(_ shape: GroupLayout, in schema: StoreSchema) throws {
    try shape.validate()
    self.shape = shape
    record = schema[shape.name].map { _ in RecordID(type: shape.name, id: Self.recordID) }
    guard let type = schema[shape.name] else { return }
    for field in shape.fields where type[field.name]?.kind != field.kind {
      throw BothyError(
        .schemaMismatch,
        "The store's type \(shape.name) does not hold the setting \(field.name). Put \(shape.name).recordType in the "
          + "store's schema, or give the group another name.")
    }
    if let field = shape.fields.first(where: { $0.isOptional && $0.defaultValue != nil }) {
      throw BothyError(
        .invalidSchema,
        "\(shape.name).\(field.name) can't be nil in a record, where a setting without a value has its default. Make the "
          + "default nil, or the property required.")
    }
  }

  /// Returns the stored group, or nil if it has to be settled first. Reads one or two rows by primary key.
  package func read(_ transaction: ReadTransaction) throws -> SettingsState? {
    let row = try SettingsTable.row(shape.name, in: transaction, known: shape)
    if let record {
      let values = try transaction.record(record)
        .map { record in
          zip(shape.fields, shape.defaults).map {
            $1.isNull || !record[$0.name].isNull ? record[$0.name] : $1
          }
        }
      return SettingsState(
        generation: row?.generation ?? 0, writer: row?.writer ?? "",
        values: shape.shown(values ?? shape.defaults))
    }
    guard let row, try SettingsUpgrade(shape: shape).run(row) == nil else { return nil }
    return SettingsState(row, shape)
  }

  /// Returns the stored group, after creating it or bringing it to this version.
  ///
  /// A record is created only by the first change, because a default need not be sent to the server.
  package func settle(_ transaction: WriteTransaction) throws -> SettingsState {
    if let state = try read(transaction) { return state }
    var row: SettingsRow
    if let stored = try SettingsTable.row(shape.name, in: transaction, known: shape) {
      row = try SettingsUpgrade(shape: shape).run(stored) ?? stored
      row.generation = stored.generation + 1
      row.writer = WriterID.ofThisProcess
    } else {
      row = SettingsRow(shape)
    }
    try SettingsTable.write(row, shape, in: transaction)
    return SettingsState(row, shape)
  }

  /// Writes those of `values` that differ from `old`, which this transaction has read.
  ///
  /// Writes one row, and for a record also the record and its data for the sync.
  package func write(
    _ values: [FieldValue], over old: SettingsState, in transaction: WriteTransaction
  ) throws -> SettingsState {
    var row =
      try SettingsTable.row(shape.name, in: transaction, known: shape)
      ?? SettingsRow(
        name: shape.name, version: shape.version, generation: 0, writer: "", fields: shape.fields, values: [:]
      )
    row.generation = old.generation + 1
    row.writer = WriterID.ofThisProcess
    let changed = shape.changes(from: old.values, to: values)
    if let record {
      // The store migrates the record. The row is for tools, which read the defaults here.
      row.fields = shape.fields
      row.version = shape.version
      let fields = Dictionary(uniqueKeysWithValues: changed.map { (shape.fields[$0].name, values[$0]) })
      if try transaction.exists(record) {
        try transaction.update(record, fields: fields)
      } else {
        let set = shape.changes(from: shape.defaults, to: values).map { (shape.fields[$0].name, values[$0]) }
        try transaction.insert(
          AnyRecord(record.type, id: record.id, Dictionary(uniqueKeysWithValues: set)))
      }
    } else {
      for position in changed { row.values[shape.fields[position].name] = values[position] }
    }
    try SettingsTable.write(row, shape, in: transaction)
    return SettingsState(generation: row.generation, writer: row.writer, values: values)
  }
}

/// The values of a stored group at one moment, with their generation and writer.
package struct SettingsState: Sendable, Equatable {
  package var generation: Int64
  package var writer: String
  /// The values that the app sees, in the order of the shape's fields.
  package var values: [FieldValue]

  init(generation: Int64, writer: String, values: [FieldValue]) {
    self.generation = generation
    self.writer = writer
    self.values = values
  }

  init(_ row: SettingsRow, _ shape: GroupLayout) {
    self.init(generation: row.generation, writer: row.writer, values: shape.shown(row.values(for: shape)))
  }
}
