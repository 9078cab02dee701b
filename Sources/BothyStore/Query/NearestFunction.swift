import GRDB
import GRDBSQLite

/// The function `bothy_nearest(lat, lon)` of R-trees: `WHERE place MATCH bothy_nearest(51.5, -0.1)` returns every
/// entry, the nearest first.
///
/// The search of an R-tree opens the node of the lowest score next (SQLite documentation, "The
/// sqlite3_rtree_query_callback() Interface"). The score of a node is the distance to its box, and every entry in it is
/// at least as far away.
enum NearestFunction {
  static func install(in connection: SQLiteConnection?) {
    sqlite3_rtree_query_callback(connection, "bothy_nearest", { NearestFunction.score($0) }, nil, nil)
  }

  private static func score(_ info: UnsafeMutablePointer<sqlite3_rtree_query_info>?) -> Int32 {
    guard let info, info.pointee.nParam == 2, info.pointee.nCoord == 4, let box = info.pointee.aCoord,
      let place = info.pointee.aParam
    else { return SQLITE_ERROR }
    let metres = GeoBox(west: box[2], south: box[0], east: box[3], north: box[1])
      .distance(to: Coordinate(latitude: place[0], longitude: place[1]))
    info.pointee.eWithin = PARTLY_WITHIN
    // Rounding must not make a part appear nearer than the whole.
    info.pointee.rScore = max(metres, info.pointee.rParentScore)
    return SQLITE_OK
  }
}
