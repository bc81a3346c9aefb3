"""A four-bar with a drive as USD text."""

HEAD = (
    '#usda 1.0\n(\n defaultPrim = "bars"\n metersPerUnit = UNIT\n kilogramsPerUnit = KILO\n upAxis = "Z"\n)\n'
)
PARTS = """
def Xform "bars" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
  def Xform "crank" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
  {
    double3 xformOp:translate = (0, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    float physics:mass = 1.0
    point3f physics:centerOfMass = (0.0, 0.1, 0.25)
    float3 physics:diagonalInertia = (0.02, 0.03, 0.01)
    quatf physics:principalAxes = (0.8, 0.6, 0, 0)
  }
  def Xform "rocker" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
  {
    double3 xformOp:translate = (1, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    float physics:mass = 2.0
    def Cube "block" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
      double size = 1
      double3 xformOp:translate = (0, 0, 0.25)
      float3 xformOp:scale = (0.1, 0.2, 0.5)
      uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
      color3f[] primvars:displayColor = [(1, 0, 0)]
    }
  }
  def Xform "coupler" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
  {
    double3 xformOp:translate = (0, 0, 0.5)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Cylinder "rod" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])
    {
      uniform token axis = "X"
      double radius = 0.05
      double height = 1.0
      double3 xformOp:translate = (0.5, 0, 0)
      uniform token[] xformOpOrder = ["xformOp:translate"]
      float physics:density = 500
    }
  }
  def PhysicsRevoluteJoint "A" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
  {
    uniform token physics:axis = "Y"
    rel physics:body1 = </bars/crank>
    float physics:lowerLimit = -90
    float physics:upperLimit = 90
    float drive:angular:physics:stiffness = 0.5
    float drive:angular:physics:damping = 0.1
    float drive:angular:physics:targetPosition = 20
    float drive:angular:physics:maxForce = 40
    uniform token drive:angular:physics:type = "force"
  }
  def PhysicsRevoluteJoint "B"
  {
    uniform token physics:axis = "Y"
    rel physics:body0 = </bars/crank>
    rel physics:body1 = </bars/coupler>
    point3f physics:localPos0 = (0, 0, 0.5)
  }
  def PhysicsRevoluteJoint "C"
  {
    uniform token physics:axis = "Y"
    rel physics:body0 = </bars/coupler>
    rel physics:body1 = </bars/rocker>
    point3f physics:localPos0 = (1, 0, 0)
    point3f physics:localPos1 = (0, 0, 0.5)
    bool physics:excludeFromArticulation = 1
  }
  def PhysicsRevoluteJoint "D"
  {
    uniform token physics:axis = "Y"
    rel physics:body1 = </bars/rocker>
    point3f physics:localPos0 = (1, 0, 0)
  }
}
"""
USD = HEAD.replace("UNIT", "1").replace("KILO", "1") + PARTS
