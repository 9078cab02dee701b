public import ArgumentParser
import BothyLegacy
import BothyStore
public import BothySync

extension ReadPolicy: ExpressibleByArgument {
  /// Takes the names of earlier versions too, which scripts may have.
  public init?(argument: String) {
    switch argument {
    case "cacheOnly": self = .local
    case "cacheElseNetwork": self = .localElseRemote
    case "cacheThenRefresh", "staleThenFresh": self = .localThenRemote
    case "networkElseCache": self = .remoteElseLocal
    case "networkOnly", "revalidate": self = .remote
    case "syncThenCache": self = .syncThenLocal
    default: self.init(rawValue: argument)
    }
  }
}
extension WritePolicy: ExpressibleByArgument {
  /// Takes the names of earlier versions too, which scripts may have.
  public init?(argument: String) {
    switch argument {
    case "cacheOnly": self = .local
    case "cacheThenNetwork": self = .localThenRemote
    case "networkThenCache": self = .remoteThenLocal
    case "networkOnly": self = .remote
    default: self.init(rawValue: argument)
    }
  }
}
extension SyncDirection: ExpressibleByArgument {}

/// The merge policies that need no code of the app.
enum MergeChoice: String, CaseIterable, ExpressibleByArgument {
  case remoteWins, localWins, latestWins, fieldByField

  /// Takes the names of earlier versions too, which scripts may have.
  init?(argument: String) {
    switch argument {
    case "serverModifiedWins": self = .remoteWins
    case "clientWins": self = .localWins
    case "lastModifiedWins": self = .latestWins
    case "fieldMerge": self = .fieldByField
    default: self.init(rawValue: argument)
    }
  }

  var policy: MergePolicy {
    switch self {
    case .remoteWins: .remoteWins
    case .localWins: .localWins
    case .latestWins: .latestWins
    case .fieldByField: .fieldByField
    }
  }
}

/// The complete behaviour of an older system.
enum PresetChoice: String, CaseIterable, ExpressibleByArgument {
  case stackMob, ntiBridge

  var configuration: SyncOptions {
    switch self {
    case .stackMob: .stackMob
    case .ntiBridge: .ntiBridge
    }
  }
}

/// The options that select records, shared by `query`, `count`, `watch` and `export`.
struct QueryOptions: ParsableArguments {
  @Argument(help: "The type of the records.")
  var type: String

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp("A condition: \"done = false AND due < 2026-12-01\".", valueName: "condition"))
  var condition = ""

  @Option(help: ArgumentHelp("Only records of this container.", valueName: "path"))
  var container: String?

  func query(limit: Int? = nil, offset: Int = 0) throws -> AnyQuery {
    AnyQuery(
      type, where: try WhereParser.parse(condition), limit: limit, offset: offset, container: container)
  }
}

/// The options for the order, shared by `query` and `watch`.
struct OrderOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Fields to sort by, such as -due,title; - reverses one.", valueName: "fields"))
  var order = ""

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Those with a place, the nearest first: 51.5,-0.1, or \"start 51.5,-0.1\" if a type has several places.",
      valueName: "lat,lon"))
  var nearest: String?

  /// Returns the query with the order, and with the condition that a place to measure from exists.
  func ordered(_ query: AnyQuery, _ type: TypeSchema) throws -> AnyQuery {
    var query = query
    query.order = try SortKey.parse(order)
    guard let key = try nearestKey(type) else { return query }
    query.order.insert(key, at: 0)
    query.filter = query.filter && .compare(field: key.field, .notEqual, .null)
    return query
  }

  private func nearestKey(_ type: TypeSchema) throws -> SortKey? {
    guard let nearest else { return nil }
    let words = nearest.split(separator: " ", maxSplits: 1)
    let isNamed = words.first?.contains { $0.isLetter || $0 == "_" } ?? false
    let places = type.fields.filter { $0.kind == .coordinate }.map(\.name)
    guard let field = isNamed ? words.first.map(String.init) : places.count == 1 ? places.first : nil else {
      throw ToolError(
        places.isEmpty
          ? "\(type.name) has no field that is a coordinate, so none of its records is near."
          : "\(type.name) has several places: \(places.joined(separator: ", ")). Say which: \"\(places[0]) \(nearest)\"."
      )
    }
    let place = isNamed ? words.dropFirst().joined() : nearest
    guard let keys = try? SortKey.parse("\(field) NEAREST \(place)"), keys.count == 1, keys[0].origin != nil
    else {
      throw ToolError("'\(nearest)' isn't a place. Write latitude and longitude: --nearest 51.5,-0.1.")
    }
    return keys[0]
  }
}
