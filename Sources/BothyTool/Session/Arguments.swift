public import ArgumentParser
public import BothyCache
import BothyStore
public import BothySync

extension ReadMode: ExpressibleByArgument {}
extension FetchPolicy: ExpressibleByArgument {}
extension SavePolicy: ExpressibleByArgument {}
extension SyncScope: ExpressibleByArgument {}

/// The merge policies that need no code of the app.
enum MergeChoice: String, CaseIterable, ExpressibleByArgument {
  case serverModifiedWins, clientWins, lastModifiedWins, fieldMerge

  var policy: MergePolicy {
    switch self {
    case .serverModifiedWins: .serverModifiedWins
    case .clientWins: .clientWins
    case .lastModifiedWins: .lastModifiedWins
    case .fieldMerge: .fieldMerge
    }
  }
}

/// The behaviour of an older system as a whole.
enum PresetChoice: String, CaseIterable, ExpressibleByArgument {
  case stackMob, ntiBridge

  var configuration: SyncConfiguration {
    switch self {
    case .stackMob: .stackMob
    case .ntiBridge: .ntiBridge
    }
  }
}

/// Which records: the options that `query`, `count`, `watch` and `export` share.
struct QueryOptions: ParsableArguments {
  @Argument(help: "The type of the records.")
  var type: String

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp("A condition: \"done = false AND due < 2026-12-01\".", valueName: "condition"))
  var condition = ""

  @Option(help: ArgumentHelp("Only records of this container.", valueName: "path"))
  var container: String?

  func query(order: String = "", limit: Int? = nil, offset: Int = 0) throws -> RecordQuery {
    RecordQuery(
      type, where: try WhereParser.parse(condition), order: try Ordering.parse(order), limit: limit,
      offset: offset, container: container)
  }
}
