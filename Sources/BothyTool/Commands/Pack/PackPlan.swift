import ArgumentParser
import BothyPacks
import BothyStore
import Foundation

/// The plan of `bothy pack build`: a given or inferred schema, and the mapping from rows to records.
struct PackPlan {
  var inputs: [PackColumns] = []
  var shardBy: [String: String] = [:]

  var schema: StoreSchema { StoreSchema(version: version, types: types) }
  private var version = 1
  /// The types of a given schema, including those without rows.
  private var types: [TypeSchema] = []

  init(_ options: PackBuildCommand) throws {
    var names: [String: [String]] = [:]
    let given = try options.schema.map { try StoreSchema(json: StandardStreams.read($0)) }
    for argument in options.inputs {
      let input = try PackInput(argument, format: options.format, table: options.table)
      var inference = SchemaInference()
      try input.forEach { inference.add($0, isText: input.isText) }
      var columns = PackColumns(input: input, type: TypeSchema(input.type, fields: [], synced: false))
      columns.id = try Self.id(options.id, input.type, inference.names)
      columns.place = Self.place(options.geo, input.type, inference.names)
      names[input.type] = inference.names
      if let given {
        guard let type = given[input.type] else {
          throw ToolError(
            "The schema has no type \(input.type). Write Type=\(input.path) with one of its types.")
        }
        columns.type = type
      } else {
        columns.type = Self.type(inference, columns)
      }
      guard !inputs.contains(where: { $0.type.name == columns.type.name }) else {
        throw ToolError("Two inputs have the type \(columns.type.name). Write Type=FILE to tell them apart.")
      }
      inputs.append(columns)
    }
    for text in options.id + options.geo.filter({ $0.contains(",") }) {
      let choice = ColumnChoice(text.split(separator: "=").last.map { String($0) } ?? text)
      guard names.contains(where: { choice.isMeant($0.key, has: $0.value) }) else {
        throw ToolError(
          "No input has the columns '\(text)'. Look at the first row of each, or write Type.column.")
      }
    }
    version = given?.version ?? 1
    types = given?.types ?? inputs.map(\.type)
    try mark(options.fullText, "--full-text") { $0.isFullText = true }
    try mark(options.index, "--index") { $0.isIndexed = true }
    try mark(options.geo.filter { !$0.contains(",") }, "--geo") { field in
      guard field.kind == .coordinate else {
        throw ToolError(
          "'\(field.name)' isn't a place. Write {\"lat\":…,\"lon\":…} in JSON, or name two columns: --geo lat,lon."
        )
      }
      field.isIndexed = true
    }
    for choice in options.shardBy.map(ColumnChoice.init) {
      let meant = types.filter { choice.isMeant($0.name, has: $0.fields.map(\.name)) }
      guard choice.columns.count == 1, meant.count == 1, meant[0][choice.columns[0]] != nil else {
        throw Self.unclear("--shard-by", choice, types)
      }
      shardBy[meant[0].name] = choice.columns[0]
    }
    try schema.validate()
  }

  private mutating func mark(
    _ texts: [String], _ option: String, _ change: (inout FieldSchema) throws -> Void
  ) throws {
    for choice in texts.map(ColumnChoice.init) {
      var isDone = false
      for index in types.indices where choice.isMeant(types[index].name, has: types[index].fields.map(\.name))
      {
        for name in choice.columns {
          guard let field = types[index].index(of: name) else { throw Self.unclear(option, choice, types) }
          try change(&types[index].fields[field])
          isDone = true
        }
      }
      guard isDone else { throw Self.unclear(option, choice, types) }
    }
    for index in inputs.indices {
      if let type = types.first(where: { $0.name == inputs[index].type.name }) { inputs[index].type = type }
    }
  }

  private static func type(_ inference: SchemaInference, _ columns: PackColumns) -> TypeSchema {
    var type = inference.type(named: columns.input.type, leavingOut: columns.consumed)
    for index in type.fields.indices {
      type.fields[index].name = ColumnName.identifier(type.fields[index].name)
    }
    if let place = columns.place {
      type.fields.append(FieldSchema(place.field, .coordinate, optional: true, indexed: true))
    }
    return type
  }

  /// Returns the columns of the id: the named ones, else `id` if it exists.
  private static func id(_ texts: [String], _ type: String, _ names: [String]) throws -> [String] {
    for choice in texts.map(ColumnChoice.init) where choice.isMeant(type, has: names) {
      guard choice.columns.allSatisfy(names.contains) else {
        throw ToolError("--id \(choice.text): \(type) has the columns \(names.joined(separator: ", ")).")
      }
      return choice.columns
    }
    return names.contains("id") ? ["id"] : []
  }

  /// Returns the two columns of `--geo [field=]lat,lon`.
  private static func place(
    _ texts: [String], _ type: String, _ names: [String]
  ) -> (latitude: String, longitude: String, field: String)? {
    for text in texts where text.contains(",") {
      let parts = text.split(separator: "=", maxSplits: 1).map { String($0) }
      let choice = ColumnChoice(parts.last ?? text)
      guard choice.columns.count == 2, choice.isMeant(type, has: names) else { continue }
      return (choice.columns[0], choice.columns[1], parts.count == 2 ? parts[0] : "place")
    }
    return nil
  }

  private static func unclear(_ option: String, _ choice: ColumnChoice, _ types: [TypeSchema]) -> ToolError {
    let known = types.map { "\($0.name): \($0.fields.map(\.name).joined(separator: ", "))" }.joined(
      separator: "; ")
    return ToolError(
      "\(option) \(choice.text) is not one column of one type. There are \(known). Write Type.column.")
  }
}
